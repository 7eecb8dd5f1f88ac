import Glibc

/// A usherd in a directory of its own, removed with it.
final class MeasuredDaemon {
  let place: Scratch
  private var program: ChildProcess

  var socketPath: String { place.file("u.sock") }
  var adminSocketPath: String { place.file("a.sock") }
  var databasePath: String { place.file("state/usherd.db") }

  /// A provider to which flows lead without a server anywhere.
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

  /// The usherd that was built with this program, or another one of its programs.
  static func besideThisProgram(_ name: String = "usherd") throws -> String {
    let own = try ChildProcess.own()
    return (own.lastIndex(of: "/").map { String(own[...$0]) } ?? "") + name
  }

  /// The command line of a daemon whose everything is in a directory.
  static func arguments(in place: Scratch) -> [String] {
    [
      "--config", place.file("usherd.toml"), "--state", place.file("state"),
      "--socket", place.file("u.sock"), "--admin-socket", place.file("a.sock"),
      "--log-level", "warning",
    ]
  }

  /// Starts it and waits until it answers.
  init(_ path: String, config: String) throws {
    place = try Scratch()
    chmod(place.path, 0o755)
    try place.write(config, to: "usherd.toml")
    program = try ChildProcess(path, Self.arguments(in: place))
    for _ in 0..<1000 {
      // The admin socket is opened after the other one.
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

  /// Stops it; what it has stored stays.
  func stop() { program.stop() }

  /// Stops it, and starts it again on what it has stored.
  ///
  /// - Parameters:
  ///   - path: The program, with more arguments in front of the daemon's: another one that runs it.
  ///   - patience: Seconds that it may be silent before it is ready.
  @discardableResult
  func restart(
    _ path: String, _ arguments: [String] = [], patience: Int = 10
  ) throws -> ReadyListener.Ready {
    program.stop()
    let listener = try ReadyListener(in: place)
    let ready = try listener.start(
      path, arguments + Self.arguments(in: place), patience: patience)
    program = ready.program
    return ready
  }
}

/// Becomes another user; only root can.
func become(_ user: UInt32) throws {
  guard user != getuid() else { return }
  guard setgroups(0, nil) == 0, setgid(user) == 0, setuid(user) == 0 else {
    throw BenchError("only root can become uid \(user)")
  }
}

/// As many descriptors as the system allows; what is started inherits it.
func raiseFileLimit() {
  var limit = rlimit()
  let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  guard getrlimit(files, &limit) == 0 else { return }
  limit.rlim_cur = limit.rlim_max
  setrlimit(files, &limit)
}
