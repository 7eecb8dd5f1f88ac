import Dispatch
import Glibc

/// How a program ended.
enum ProgramOutcome: Sendable, Equatable {
  /// The program exited or was ended by a signal.
  ///
  /// - Parameter status: The exit status, or 128 plus the number of the signal.
  case ended(status: Int32, errors: String)
  /// The program exceeded its time limit and was killed.
  case tookTooLong
  case notStarted
}

/// Runs a program from `PATH` with the given standard input and an empty environment.
///
/// - Parameter limit: The time after which the program is killed.
func runProgram(
  _ name: String, _ arguments: [String], input: [UInt8], within limit: Duration
) async -> ProgramOutcome {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().async {
      continuation.resume(returning: run(name, arguments, input, limit))
    }
  }
}

private func run(
  _ name: String, _ arguments: [String], _ input: [UInt8], _ limit: Duration
) -> ProgramOutcome {
  // Files cannot block; a pipe could, if the program wrote more than it holds while no side reads.
  guard let standardInput = NamelessFile(input), let errors = NamelessFile([]),
    let child = spawn(name, arguments, standardInput.descriptor, errors.descriptor)
  else { return .notStarted }
  var status: Int32 = 0
  for _ in 0..<Int(limit / .milliseconds(20)) {
    switch waitpid(child, &status, WNOHANG) {
    case child: return .ended(status: exitStatus(status), errors: errors.text(limit: 4096))
    case 0: usleep(20_000)
    default: return .notStarted
    }
  }
  kill(child, SIGKILL)
  waitpid(child, &status, 0)
  return .tookTooLong
}

private func exitStatus(_ status: Int32) -> Int32 {
  let signal = status & 0x7F
  return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
}

private func spawn(
  _ name: String, _ arguments: [String], _ input: Int32, _ errors: Int32
) -> pid_t? {
  var actions = posix_spawn_file_actions_t()
  var attributes = posix_spawnattr_t()
  posix_spawn_file_actions_init(&actions)
  posix_spawnattr_init(&attributes)
  defer {
    posix_spawn_file_actions_destroy(&actions)
    posix_spawnattr_destroy(&attributes)
  }
  posix_spawn_file_actions_adddup2(&actions, input, 0)
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
  posix_spawn_file_actions_adddup2(&actions, errors, 2)
  guard closeOthers(&actions) else { return nil }
  // Dispatch's worker threads block signals, and a child process inherits the signal mask.
  var signals = sigset_t()
  sigemptyset(&signals)
  posix_spawnattr_setsigmask(&attributes, &signals)
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
  var words = ([name] + arguments).map { strdup($0) } + [nil]
  defer { for word in words { free(word) } }
  var environment: [UnsafeMutablePointer<CChar>?] = [nil]
  var child: pid_t = 0
  return posix_spawnp(&child, name, &actions, &attributes, &words, &environment) == 0 ? child : nil
}

/// Makes the child close all descriptors except its three standard streams. If it inherited one of
/// our connections, closing it here would not end the connection.
///
/// - Returns: False if the C library is older than glibc 2.34. Headers declare the function only
///   with `_GNU_SOURCE`, so it is looked up at run time.
private func closeOthers(_ actions: inout posix_spawn_file_actions_t) -> Bool {
  typealias AddCloseFrom =
    @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, CInt) -> CInt
  guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return false }
  return unsafeBitCast(symbol, to: AddCloseFrom.self)(&actions, 3) == 0
}

/// A temporary file that is already unlinked: no other process can open it, and it disappears when
/// its descriptors are closed.
private final class NamelessFile {
  let descriptor: Int32

  init?(_ bytes: [UInt8]) {
    var name = Array("/tmp/usher-sandbox.XXXXXX".utf8CString)
    descriptor = mkstemp(&name)
    guard descriptor >= 0, unlink(name) == 0, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0,
      write(descriptor, bytes, bytes.count) == bytes.count, lseek(descriptor, 0, SEEK_SET) == 0
    else { return nil }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func text(limit: Int) -> String {
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = pread(descriptor, &bytes, limit, 0)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
