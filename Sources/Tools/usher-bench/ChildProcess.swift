import Glibc

/// A child process; killed on deinitialization and when this program ends.
final class ChildProcess {
  let pid: pid_t
  private let output: CInt
  private var hasEnded = false

  enum Errors {
    /// On this program's standard error.
    case shown
    case hidden
    case amongOutput
  }

  /// - Parameters:
  ///   - environment: Variables that are added to this program's or replace them.
  ///   - errors: The destination of standard error.
  init(
    _ path: String, _ arguments: [String], environment: [String: String] = [:],
    errors: Errors = .shown
  ) throws {
    let group = try ProcessReaper.ofThisProgram().group
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { throw BenchError("cannot create a pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // A background process that reads from the terminal would be stopped (SIGTTIN).
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    switch errors {
    case .shown: break
    case .hidden: posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    case .amongOutput: posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
    // A thread of the task pool blocks all signals, SIGTERM among them; the child would inherit
    // that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, group)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    var variables = Self.variables(under: environment).map { strdup($0) } + [nil]
    defer { for word in words + variables { free(word) } }
    var child: pid_t = 0
    let result = posix_spawn(&child, path, &actions, &attributes, &words, &variables)
    close(ends[1])
    guard result == 0 else {
      close(ends[0])
      throw BenchError("cannot start \(path): \(String(cString: strerror(result)))")
    }
    pid = child
    output = ends[0]
  }

  /// This program's variables, with `others` added or in their place.
  private static func variables(under others: [String: String]) -> [String] {
    var variables = others.map { "\($0)=\($1)" }
    var entry: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> = environ
    while let variable = entry.pointee {
      let text = String(cString: variable)
      if others[String(text.prefix { $0 != "=" })] == nil { variables.append(text) }
      entry += 1
    }
    return variables
  }

  /// Runs a program until it ends.
  ///
  /// - Throws: `BenchError` with the program's output if its status is not 0.
  static func run(
    _ path: String, _ arguments: [String], environment: [String: String] = [:]
  ) throws {
    let child = try ChildProcess(path, arguments, environment: environment, errors: .amongOutput)
    let output = String(decoding: child.allOutput(), as: UTF8.self)
    var status: CInt = 0
    waitpid(child.pid, &status, 0)
    child.hasEnded = true
    guard status == 0 else { throw BenchError("\(path) failed: \(output)") }
  }

  deinit {
    if !hasEnded {
      kill(pid, SIGKILL)
      waitpid(pid, nil, 0)
    }
    close(output)
  }

  /// Reads the output until it ends.
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

  /// Waits until the process has written something.
  func firstByte() throws {
    var byte: UInt8 = 0
    while true {
      let count = read(output, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { throw BenchError("a helper process ended before it was ready") }
      return
    }
  }

  /// Waits until the process has ended.
  func join() {
    guard !hasEnded else { return }
    waitpid(pid, nil, 0)
    hasEnded = true
  }

  /// Sends SIGTERM and waits for the process to end; kills it after twenty seconds.
  func stop() {
    guard isRunning else { return }
    kill(pid, SIGTERM)
    for _ in 0..<20_000 {
      guard isRunning else { return }
      usleep(1000)
    }
    kill(pid, SIGKILL)
    join()
  }

  var isRunning: Bool {
    if !hasEnded, waitpid(pid, nil, WNOHANG) == pid { hasEnded = true }
    return !hasEnded
  }

  /// Returns the path of this program.
  static func own() throws -> String {
    var path = [UInt8](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &path, path.count)
    guard count > 0 else { throw BenchError("/proc/self/exe cannot be read") }
    return String(decoding: path.prefix(count), as: UTF8.self)
  }
}
