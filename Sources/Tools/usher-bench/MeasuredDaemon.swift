import Glibc

/// A usherd with a directory of its own, which is removed on deinitialization.
final class MeasuredDaemon {
  let directory: ScratchDirectory
  private var program: ChildProcess

  var socketPath: String { directory.file("u.sock") }
  var adminSocketPath: String { directory.file("a.sock") }
  var databasePath: String { directory.file("state/usherd.db") }

  /// The configuration of a provider for flows that never reach a server.
  static let silentProvider = """
    [[provider]]
    name = "silent"
    type = "oidc"
    issuer = "http://127.0.0.1:1/oidc"
    client_id = "usher"

    [provider.endpoints]
    authorization = "http://127.0.0.1:1/authorize"
    token = "http://127.0.0.1:1/token"
    jwks = "http://127.0.0.1:1/jwks"

    """

  var pid: pid_t { program.pid }

  /// Returns the path of the usherd, or another program, that was built together with this program.
  static func builtProgram(_ name: String = "usherd") throws -> String {
    let own = try ChildProcess.own()
    return (own.lastIndex(of: "/").map { String(own[...$0]) } ?? "") + name
  }

  /// The command line of a daemon that has all its files in one directory.
  static func arguments(in directory: ScratchDirectory) -> [String] {
    [
      "--config", directory.file("usherd.toml"), "--state", directory.file("state"),
      "--socket", directory.file("u.sock"), "--admin-socket", directory.file("a.sock"),
      "--log-level", "warning",
    ]
  }

  /// Starts the daemon and waits until it replies.
  init(_ path: String, config: String) throws {
    directory = try ScratchDirectory()
    chmod(directory.path, 0o755)
    try directory.write(config, to: "usherd.toml")
    program = try ChildProcess(path, Self.arguments(in: directory))
    for _ in 0..<1000 {
      // The daemon opens the admin socket after the other one.
      if let client = try? BlockingClient(adminSocketPath) {
        _ = try client.time(Calls.status)
        return
      }
      guard program.isRunning else { throw BenchError("\(path) ended before it answered") }
      usleep(10_000)
    }
    throw BenchError("\(path) does not answer within 10 s")
  }

  deinit { program.stop() }

  /// Stops the daemon; its stored data stays.
  func stop() { program.stop() }

  /// Stops the daemon and starts it again on its stored data.
  ///
  /// - Parameters:
  ///   - path: The program to start; with `arguments`, a program that runs the daemon.
  ///   - timeout: The seconds without a message after which the start fails.
  @discardableResult
  func restart(
    _ path: String, _ arguments: [String] = [], timeout: Int = 10
  ) throws -> ReadyListener.Ready {
    program.stop()
    let listener = try ReadyListener(in: directory)
    let ready = try listener.start(
      path, arguments + Self.arguments(in: directory), timeout: timeout)
    program = ready.program
    return ready
  }
}

/// Changes to another user; only root can do that.
func switchUser(_ user: UInt32) throws {
  guard user != getuid() else { return }
  guard setgroups(0, nil) == 0, setgid(user) == 0, setuid(user) == 0 else {
    throw BenchError("only root can become uid \(user)")
  }
}

/// Raises the limit for open files to the maximum; child processes inherit it.
func raiseFileLimit() {
  var limit = rlimit()
  let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  guard getrlimit(files, &limit) == 0 else { return }
  limit.rlim_cur = limit.rlim_max
  setrlimit(files, &limit)
}
