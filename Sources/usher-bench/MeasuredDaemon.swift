import Glibc

/// A usherd in a directory of its own, removed with it.
final class MeasuredDaemon {
  let place: String
  private var program: ChildProcess

  var socketPath: String { "\(place)/u.sock" }
  var adminSocketPath: String { "\(place)/a.sock" }

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

  /// A directory that ``remove(_:)`` takes away.
  static func freshPlace() throws -> String {
    var template = Array("/tmp/usher-bench-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw BenchTrouble("no place in /tmp") }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The command line of a daemon whose everything is in a directory.
  static func arguments(in place: String) -> [String] {
    [
      "--config", "\(place)/usherd.toml", "--state", "\(place)/state",
      "--socket", "\(place)/u.sock", "--admin-socket", "\(place)/a.sock",
      "--log-level", "warning",
    ]
  }

  /// Starts it and waits until it answers.
  init(_ path: String, config: String) throws {
    place = try Self.freshPlace()
    chmod(place, 0o755)
    try Self.write(config, to: "\(place)/usherd.toml")
    program = try ChildProcess(path, Self.arguments(in: place))
    for _ in 0..<1000 {
      // The admin socket is opened after the other one.
      if let client = try? BlockingClient(adminSocketPath) {
        _ = try client.time(Calls.status)
        return
      }
      guard program.isRunning else { break }
      usleep(10_000)
    }
    throw BenchTrouble("\(path) does not answer")
  }

  deinit {
    program.stop()
    Self.remove(place)
  }

  var databasePath: String { "\(place)/state/usherd.db" }

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

  static func remove(_ place: String) {
    for name in ["usherd.toml", "u.sock", "a.sock", "notify"] { unlink("\(place)/\(name)") }
    removeFiles(in: "\(place)/state")
    rmdir("\(place)/state")
    rmdir(place)
  }

  static func write(_ text: String, to file: String) throws {
    let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL, 0o644)
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard descriptor >= 0, Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw BenchTrouble("cannot write \(file)")
    }
  }

  private static func removeFiles(in directory: String) {
    guard let listing = opendir(directory) else { return }
    defer { closedir(listing) }
    while let entry = readdir(listing) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { unlink("\(directory)/\(name)") }
    }
  }
}

/// Becomes another user; only root can.
func become(_ user: UInt32) throws {
  guard user != getuid() else { return }
  guard setgroups(0, nil) == 0, setgid(user) == 0, setuid(user) == 0 else {
    throw BenchTrouble("only root can become uid \(user)")
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
