import ArgumentParser
import CBench
import Glibc
import JSONRPC

/// The servers of a comparison. Each is started here and ends with its value.
extension MeasuredServer {
  /// The ids of the calls on a connection: as many as are in progress at the same time.
  private static var ids: Range<Int> { 100..<116 }

  static func usherd(_ signedIn: SignedInDaemon) throws -> MeasuredServer {
    try MeasuredServer(
      .usherd, socketPath: signedIn.daemon.socketPath, framing: BENCH_LINE,
      calls: ids.map { signedIn.tokenCall(id: $0) }, pids: [signedIn.daemon.pid], owner: signedIn
    ) { reply in
      let result = try? JSONValue(parsing: Array(reply))["result"]
      return result?["accessToken"]?.stringValue == signedIn.accessToken
    }
  }

  /// A loop in C whose calls and replies have the length of usherd's.
  static func echo(like usherd: MeasuredServer) throws -> MeasuredServer {
    let program = try ReferenceServer(
      try ChildProcess.own(), "echo.sock",
      { ["echo", "--socket", $0.socketPath, "--reply-bytes", "\(usherd.replyBytes)"] })
    return try MeasuredServer(
      .echo, socketPath: program.socketPath, framing: BENCH_LINE,
      calls: [Array(usherd.calls.prefix(usherd.calls.count / usherd.callCount))],
      pids: [program.pid], owner: program
    ) { $0.count == usherd.replyBytes }
  }

  /// Redis with a value whose reply is as long as usherd's, under a key that a cache of tokens
  /// could use.
  static func redis(like usherd: MeasuredServer, key: String) throws -> MeasuredServer {
    let path = try ReferenceServer.program("redis-server")
    let program = try ReferenceServer(path, "redis.sock") {
      ReferenceServer.redis(in: $0.directory, $0.socketPath)
    }
    // The reply consists of "$NNN\r\n", the value and "\r\n".
    let value = String(repeating: "v", count: max(1, usherd.replyBytes - 8))
    _ = try BlockingClient(program.socketPath).time(Self.command("SET", key, value))
    return try MeasuredServer(
      .redis, socketPath: program.socketPath, framing: BENCH_BULK,
      calls: [Self.command("GET", key)], pids: [program.pid], owner: program
    ) { String(decoding: $0, as: UTF8.self) == "$\(value.utf8.count)\r\n\(value)\r\n" }
  }

  /// A command as Redis clients send it: an array of bulk strings.
  private static func command(_ words: String...) -> [UInt8] {
    let strings = words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }
    return Array(("*\(words.count)\r\n" + strings.joined()).utf8)
  }

  /// ssh-agent, which lists its one Ed25519 identity (draft-ietf-sshm-ssh-agent, 3.5).
  static func sshAgent() throws -> MeasuredServer {
    let path = try ReferenceServer.program("ssh-agent")
    let (keygen, add) = (
      try ReferenceServer.program("ssh-keygen"), try ReferenceServer.program("ssh-add")
    )
    let program = try ReferenceServer(path, "agent.sock") { ["-D", "-a", $0.socketPath] }
    let key = program.directory.file("key")
    try ChildProcess.run(keygen, ["-q", "-t", "ed25519", "-N", "", "-C", "usher-bench", "-f", key])
    try ChildProcess.run(add, ["-q", key], environment: ["SSH_AUTH_SOCK": program.socketPath])
    return try MeasuredServer(
      .sshAgent, socketPath: program.socketPath, framing: BENCH_LENGTH32,
      calls: [[0, 0, 0, 1, 11]], pids: [program.pid], owner: program
    ) { reply in
      // SSH_AGENT_IDENTITIES_ANSWER, and the number of identities.
      Array(reply.dropFirst(4).prefix(5)) == [12, 0, 0, 0, 1]
    }
  }

  /// oidc-agent 4 with a cached access token, through its unencrypted protocol: one call per
  /// connection.
  static func oidcAgent(tokenBytes: Int) throws -> MeasuredServer {
    let path = try ReferenceServer.program("oidc-agent")
    let generator = try ReferenceServer.program("oidc-gen")
    let provider = try SandboxProvider(tokenBytes: tokenBytes)
    let program = try ReferenceServer(path, "agent.sock", home: true) {
      ["--console", "--no-autoreauthenticate", "--socket-path", $0.socketPath]
    }
    try provider.answerRefreshes()
    try ChildProcess.run(
      generator,
      [
        "--flow=refresh", "--rt=bench", "--iss=\(provider.issuer)", "--client-id=usher",
        "--client-secret=", "--scope=openid profile offline_access", "--pw-env", "--prompt=none",
        "--confirm-yes", "bench",
      ],
      environment: program.homeVariables.merging(
        ["OIDC_SOCK": program.socketPath, "OIDC_ENCRYPTION_PW": "bench"]) { $1 })
    let call = #"{"request":"access_token","account":"bench","min_valid_period":60,"#
    return try MeasuredServer(
      .oidcAgent, socketPath: program.socketPath, framing: BENCH_CLOSE,
      calls: [Array((call + #""application_hint":"usher-bench"}"#).utf8)],
      pids: [program.pid] + program.children, owner: program
    ) { reply in
      let answer = try? JSONValue(parsing: Array(reply))
      return answer?["access_token"]?.stringValue == provider.accessToken
    }
  }
}

/// A program that listens on a Unix socket in a directory of its own.
final class ReferenceServer {
  let directory: ScratchDirectory
  let socketPath: String
  private var program: ChildProcess?

  var pid: pid_t { program?.pid ?? -1 }

  /// Environment variables with a home directory of its own for a program that stores files there.
  var homeVariables: [String: String] {
    ["HOME": directory.path, "TMPDIR": directory.path, "OIDC_CONFIG_DIR": directory.file("config")]
  }

  /// Starts the program and waits until it listens.
  init(
    _ path: String, _ socket: String, home: Bool = false,
    _ arguments: (ReferenceServer) throws -> [String]
  ) throws {
    directory = try ScratchDirectory()
    socketPath = directory.file(socket)
    if home { mkdir(directory.file("config"), 0o700) }
    let program = try ChildProcess(
      path, try arguments(self), environment: home ? homeVariables : [:], errors: .hidden)
    self.program = program
    for _ in 0..<500 {
      if let descriptor = try? BlockingClient.connected(socketPath) {
        close(descriptor)
        return
      }
      guard program.isRunning else { throw BenchError("\(path) ended before it listened") }
      usleep(10_000)
    }
    throw BenchError("\(path) does not listen within 5 s")
  }

  deinit { program?.stop() }

  /// The child processes of the program.
  var children: [pid_t] {
    let text = (try? wholeFile("/proc/\(pid)/task/\(pid)/children")) ?? ""
    return text.split(separator: " ").compactMap { pid_t($0) }
  }

  /// The command line of a Redis that writes nothing to disk.
  static func redis(in directory: ScratchDirectory, _ socketPath: String) -> [String] {
    [
      "--port", "0", "--unixsocket", socketPath, "--save", "", "--appendonly", "no",
      "--daemonize", "no", "--dir", directory.path, "--loglevel", "warning", "--logfile",
      "/dev/null",
    ]
  }

  /// Returns the path of a program in `PATH`, /usr/bin or /usr/sbin.
  ///
  /// - Throws: `NotInstalled`.
  static func program(_ name: String) throws -> String {
    let path = getenv("PATH").map { String(cString: $0) } ?? ""
    let directories = path.split(separator: ":").map(String.init) + ["/usr/bin", "/usr/sbin"]
    guard let directory = directories.first(where: { access("\($0)/\(name)", X_OK) == 0 }) else {
      throw NotInstalled(program: name)
    }
    return "\(directory)/\(name)"
  }
}

/// A server for the comparison is not installed.
struct NotInstalled: Error, CustomStringConvertible {
  let program: String

  var description: String {
    "\(program) is not installed (Packaging/install-dependencies bench)"
  }
}

/// A helper process: the simplest possible server.
struct Echo: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "echo", abstract: "Answers every line with the same bytes.", shouldDisplay: false)

  @Option var socket: String
  @Option var replyBytes: Int

  func run() throws {
    let reply = [UInt8](repeating: UInt8(ascii: "e"), count: max(0, replyBytes - 1)) + [10]
    let reason = bench_echo(socket, reply, reply.count)
    throw BenchError("cannot echo at \(socket): \(String(cString: strerror(reason)))")
  }
}
