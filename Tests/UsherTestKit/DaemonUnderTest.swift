import Foundation
package import JSONRPC
import Logging
import ServiceLifecycle
import Synchronization
import Testing
import UsherSandbox

/// A daemon with a directory of its own, which can be stopped and started again on the same state.
///
/// It runs in this process, unless the test has the trait ``OwnProcess`` or the daemon has an
/// environment or a launcher.
package final class DaemonUnderTest: @unchecked Sendable {
  /// The scrypt rounds for passcodes. The default takes too long in a debug build.
  static let passcodeRounds = 1024

  private enum Host { case thisProcess, ownProcess }

  private enum Running {
    case inProcess(InProcessDaemon)
    case program(RunningProgram)
  }

  package let place: TemporaryDirectory
  private let host: Host
  private let lastStarted = Mutex<Running?>(nil)
  private var environment: [String: String]
  private let clock: MovableClock?
  private let messageBus: String?
  /// The program that starts the daemon, with arguments: `["/usr/bin/setpriv", "--nnp"]`.
  private let launcher: [String]
  private let logLevel: String

  package var socketPath: String { place.file("u.sock") }
  package var adminSocketPath: String { place.file("a.sock") }
  package var statePath: String { place.file("state") }
  package var logPath: String { place.file("usherd.log") }
  package var log: String {
    String(decoding: FileManager.default.contents(atPath: logPath) ?? Data(), as: UTF8.self)
  }
  /// The id of the daemon's process; `Int32.max`, which no process has, if it runs in this process.
  package var pid: Int32 { program?.pid ?? .max }
  package var isRunning: Bool {
    switch running {
    case .inProcess(let daemon): daemon.isRunning
    case .program(let program): program.isRunning
    case nil: false
    }
  }

  /// A test's thread may read this while the daemon starts.
  private var running: Running? {
    get { lastStarted.withLock { $0 } }
    set { lastStarted.withLock { $0 = newValue } }
  }

  private var program: RunningProgram? {
    if case .program(let program) = running { program } else { nil }
  }

  /// Starts the daemon and waits until it replies.
  ///
  /// - Parameters:
  ///   - config: The text of usherd.toml.
  ///   - environment: Environment variables such as `USHER_FAILPOINT`.
  ///   - clock: The clock of the daemon; nil means the machine's.
  ///   - messageBus: The D-Bus address at which the daemon looks for fprintd; nil means the
  ///     machine's system bus.
  ///   - launcher: The absolute path of a program that executes the daemon, and its arguments.
  package init(
    config: String, environment: [String: String] = [:], clock: MovableClock? = nil,
    messageBus: String? = nil, launcher: [String] = [], logLevel: String = "debug",
    at place: TemporaryDirectory? = nil
  ) throws {
    self.place = try place ?? TemporaryDirectory()
    self.environment = environment
    self.clock = clock
    self.messageBus = messageBus
    self.launcher = launcher
    self.logLevel = logLevel
    let needsProcess = OwnProcess.isAsked || !environment.isEmpty || !launcher.isEmpty
    host = needsProcess ? .ownProcess : .thisProcess
    let place = self.place
    try place.write(config, to: "usherd.toml")
    try start()
  }

  package func start(environment: [String: String]? = nil) throws {
    if isRunning { throw TestError("the daemon is running: stop it before you start it again") }
    if let environment { self.environment = environment }
    switch host {
    case .thisProcess: try startHere()
    case .ownProcess: try startProgram()
    }
  }

  private func startHere() throws {
    guard environment.isEmpty else {
      throw TestError(
        "environment variables need a daemon in a process of its own: see .ownProcess")
    }
    running = .inProcess(
      try InProcessDaemon(
        config: place.file("usherd.toml"), state: statePath, socket: socketPath,
        adminSocket: adminSocketPath, logLevel: logLevel, logPath: logPath, clock: clock,
        messageBus: messageBus))
  }

  private func startProgram() throws {
    let command = launcher + commandLine
    var environment = ["USHER_PASSCODE_ROUNDS": "\(Self.passcodeRounds)"]
    environment["DBUS_SYSTEM_BUS_ADDRESS"] = messageBus
    environment.merge(try clock?.environment ?? [:]) { $1 }
    environment.merge(self.environment) { $1 }
    let program = try RunningProgram(
      command[0], Array(command.dropFirst()), environment: environment, log: logPath)
    running = .program(program)
    try eventually("usherd answers; its log: \(log)") {
      guard program.isRunning else { throw TestError("usherd ended: \(log)") }
      // The daemon opens the admin socket after the app socket.
      return (try? client().call("system.status", within: 2)) != nil && (try? admin()) != nil
    }
  }

  /// The program and its arguments, for tests that start the daemon themselves.
  package var commandLine: [String] {
    [
      BuiltProduct.path("usherd"), "--config", place.file("usherd.toml"), "--state", statePath,
      "--socket", socketPath, "--admin-socket", adminSocketPath, "--log-level", logLevel,
    ]
  }

  package func client() throws -> RawClient { try RawClient(socketPath) }
  package func admin() throws -> RawClient { try RawClient(adminSocketPath) }

  /// Sends SIGKILL; only for a daemon in a process of its own.
  package func killAtOnce() {
    guard let program else {
      Issue.record("only a daemon in a process of its own can be killed: see .ownProcess")
      return
    }
    program.killAtOnce()
  }

  @discardableResult
  package func stop() throws -> Int32 {
    switch running {
    case .inProcess(let daemon): try daemon.stop(within: 60)
    case .program(let program): try program.stop()
    case nil: 0
    }
  }

  /// Waits until the daemon's process ends by itself, for example at a fail point.
  package func exitStatus(within seconds: Double = 60) throws -> Int32 {
    guard let program else {
      throw TestError("only a daemon in a process of its own has an exit status: see .ownProcess")
    }
    return try program.exitStatus(within: seconds)
  }

  /// Ends the daemon, with SIGKILL if it has a process of its own, and starts it again.
  package func restart(environment: [String: String]? = nil) throws {
    switch host {
    case .thisProcess: try stop()
    case .ownProcess: killAtOnce()
    }
    try start(environment: environment)
  }

  /// Replaces the configuration and applies it, which must succeed.
  package func reload(config: String) throws {
    try place.write(config, to: "usherd.toml")
    let problems = try admin().call("system.reload")["problems"]
    guard problems == [] else { throw TestError("the reload failed: \(problems ?? .null)") }
  }

  /// Sets a credential on the admin socket, as `usherctl credential set` does.
  package func setCredential(_ name: String, _ value: String) throws {
    _ = try admin().call("credential.set", ["name": .string(name), "value": .string(value)])
  }

  /// Runs `usherctl` against this daemon.
  package func usherctl(
    _ arguments: [String], input: String = ""
  ) throws -> (status: Int32, output: String, errors: String) {
    try run(
      BuiltProduct.path("usherctl"),
      ["--socket", socketPath, "--admin-socket", adminSocketPath] + arguments, input: input)
  }
}

/// A sandbox on a free port; runs in this process unless it has arguments.
package final class SandboxUnderTest: Sendable {
  private enum Running {
    case inProcess(ServiceGroup)
    case program(RunningProgram, TemporaryDirectory)
  }

  private let running: Running
  package let base: String

  package var issuer: String { "\(base)/oidc" }

  /// - Parameters:
  ///   - arguments: More command-line arguments, such as `["--smtp", "smtp://127.0.0.1:2525"]`.
  ///   - clock: The clock of the daemon, which determines when tokens and codes expire.
  package init(_ arguments: [String] = [], clock: MovableClock? = nil) throws {
    if arguments.isEmpty, !OwnProcess.isAsked {
      (running, base) = try Self.startHere(clock)
    } else {
      (running, base) = try Self.startProgram(arguments)
    }
  }

  deinit {
    if case .inProcess(let group) = running { Task { await group.triggerGracefulShutdown() } }
  }

  private static func startHere(_ clock: MovableClock?) throws -> (Running, String) {
    let listening = DispatchSemaphore(value: 0)
    let base = Mutex("")
    var configuration = Sandbox.Configuration()
    if let clock {
      configuration.now = { clock.date }
    }
    let server = try Sandbox(configuration).server { address in
      base.withLock { $0 = address }
      listening.signal()
    }
    let group = ServiceGroup(configuration: .init(services: [server], logger: .silent))
    Task { try await group.run() }
    guard TestDeadline().isSignalled(listening) else {
      throw TestError("the sandbox does not listen within 60 s")
    }
    return (.inProcess(group), base.withLock { $0 })
  }

  private static func startProgram(_ arguments: [String]) throws -> (Running, String) {
    let place = try TemporaryDirectory()
    let program = try RunningProgram(
      BuiltProduct.path("usher-sandbox"), ["--port-file", place.file("port")] + arguments,
      log: place.file("sandbox.log"))
    var port = ""
    try eventually("the sandbox listens: \(program.log)") {
      port =
        FileManager.default.contents(atPath: place.file("port"))
        .map { String(decoding: $0, as: UTF8.self) }?
        .trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
      return !port.isEmpty
    }
    return (.program(program, place), "http://127.0.0.1:\(port)")
  }

  /// Stops the sandbox; returns when its address refuses connections.
  package func killAtOnce() {
    switch running {
    case .inProcess(let group):
      Task { await group.triggerGracefulShutdown() }
      try? eventually("\(base) refuses connections") { (try? Web.get(base)) == nil }
    case .program(let program, _): program.killAtOnce()
    }
  }

  /// Returns a `[[provider]]` section for this sandbox.
  package func provider(_ name: String = "demo", more: String = "") -> String {
    """
    [[provider]]
    name = "\(name)"
    type = "oidc"
    issuer = "\(issuer)"
    client_id = "usher"
    \(more)

    """
  }

  /// Calls the sandbox's control API.
  @discardableResult
  package func control(
    _ method: String, _ path: String, _ body: JSONValue? = nil
  ) throws -> JSONValue {
    try Self.control(base, method, path, body)
  }

  /// Calls the control API of the sandbox with this base URL.
  package static func control(
    _ base: String, _ method: String, _ path: String, _ body: JSONValue? = nil
  ) throws -> JSONValue {
    let reply = try Web.send(
      method, "\(base)/_control/\(path)", json: body.map { $0.encoded() })
    guard (200..<300).contains(reply.status) else {
      throw TestError("\(method) \(path): \(reply.status) \(reply.text)")
    }
    return reply.body.isEmpty ? .null : try JSONValue(parsing: reply.body)
  }

  /// Returns the number of requests for an endpoint that the provider has received.
  package func requests(_ endpoint: String, grantType: String? = nil) throws -> Int {
    let grant = grantType.map { "&grantType=\($0)" } ?? ""
    let reply = try control("GET", "requests?endpoint=\(endpoint)\(grant)")
    return Int(reply["count"]?.integerValue ?? -1)
  }
}

extension Logger {
  /// A logger that discards everything.
  fileprivate static var silent: Logger {
    Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
  }
}
