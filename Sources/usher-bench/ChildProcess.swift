import Glibc

/// A program that runs beside this one; killed when it is let go of.
final class ChildProcess {
  let pid: pid_t
  private let output: CInt
  private var hasEnded = false

  init(_ path: String, _ arguments: [String]) throws {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { throw BenchTrouble("no pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var child: pid_t = 0
    let result = posix_spawn(&child, path, &actions, nil, &words, environ)
    close(ends[1])
    guard result == 0 else {
      close(ends[0])
      throw BenchTrouble("cannot start \(path): \(String(cString: strerror(result)))")
    }
    pid = child
    output = ends[0]
  }

  deinit {
    if !hasEnded {
      kill(pid, SIGKILL)
      waitpid(pid, nil, 0)
    }
    close(output)
  }

  /// What it writes, to the end of its output.
  func allOutput() -> [UInt8] {
    var all: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(output, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return all }
      all += chunk.prefix(count)
    }
  }

  /// Waits until it has written something.
  func firstByte() throws {
    var byte: UInt8 = 0
    while true {
      let count = read(output, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { throw BenchTrouble("a helper ended before it began") }
      return
    }
  }

  /// Waits until it has ended by itself.
  func join() {
    guard !hasEnded else { return }
    waitpid(pid, nil, 0)
    hasEnded = true
  }

  /// Asks it to end, and waits for it.
  func stop() {
    guard !hasEnded else { return }
    kill(pid, SIGTERM)
    waitpid(pid, nil, 0)
    hasEnded = true
  }

  var isRunning: Bool {
    if !hasEnded, waitpid(pid, nil, WNOHANG) == pid { hasEnded = true }
    return !hasEnded
  }

  /// This program.
  static func own() throws -> String {
    var path = [UInt8](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &path, path.count)
    guard count > 0 else { throw BenchTrouble("/proc/self/exe cannot be read") }
    return String(decoding: path.prefix(count), as: UTF8.self)
  }
}
