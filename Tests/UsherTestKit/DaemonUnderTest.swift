import Foundation
package import JSONRPC

/// A real usherd in a place of its own; started, killed and started again on the same state.
package final class DaemonUnderTest: @unchecked Sendable {
  package let place: Workplace
  private var program: RunningProgram?
  private var environment: [String: String]
  /// What the daemon is started by, as in `["/usr/bin/setpriv", "--nnp"]`.
  private let launcher: [String]
  private let logLevel: String

  package var socketPath: String { place.file("u.sock") }
  package var adminSocketPath: String { place.file("a.sock") }
  package var statePath: String { place.file("state") }
  package var logPath: String { place.file("usherd.log") }
  package var log: String {
    String(decoding: FileManager.default.contents(atPath: logPath) ?? Data(), as: UTF8.self)
  }
  package var pid: Int32 { program?.pid ?? -1 }
  package var isRunning: Bool { program?.isRunning ?? false }

  /// Starts it and waits until it answers.
  ///
  /// - Parameters:
  ///   - config: The text of usherd.toml.
  ///   - environment: `USHER_FAILPOINT` and the like.
  ///   - launcher: A program that becomes the daemon, by its whole path, and its arguments.
  package init(
    config: String, environment: [String: String] = [:], launcher: [String] = [],
    logLevel: String = "debug", at place: Workplace? = nil
  ) throws {
    self.place = try place ?? Workplace()
    self.environment = environment
    self.launcher = launcher
    self.logLevel = logLevel
    let place = self.place
    try place.write(config, to: "usherd.toml")
    try start()
  }

  package func start(environment: [String: String]? = nil) throws {
    if let environment { self.environment = environment }
    let command = launcher + commandLine
    program = try RunningProgram(
      command[0], Array(command.dropFirst()),
      environment: ["USHER_PASSCODE_ROUNDS": "1024"].merging(self.environment) { $1 }, log: logPath)
    try eventually("usherd answers; its log: \(log)") {
      guard program?.isRunning == true else { throw TestTrouble("usherd ended: \(log)") }
      // The admin socket is opened after the other one.
      return (try? client().call("system.status", within: 2)) != nil && (try? admin()) != nil
    }
  }

  /// Program and arguments, for tests that start it by themselves.
  package var commandLine: [String] {
    [
      BuiltProduct.path("usherd"), "--config", place.file("usherd.toml"), "--state", statePath,
      "--socket", socketPath, "--admin-socket", adminSocketPath, "--log-level", logLevel,
    ]
  }

  package func client() throws -> RawClient { try RawClient(socketPath) }
  package func admin() throws -> RawClient { try RawClient(adminSocketPath) }

  package func killAtOnce() { program?.killAtOnce() }

  @discardableResult
  package func stop() throws -> Int32 { try program?.stop() ?? 0 }

  /// Waits for it to die by itself, as at a fail point.
  package func exitStatus(within seconds: Double = 20) throws -> Int32 {
    try program?.exitStatus(within: seconds) ?? 0
  }

  /// `kill -9`, then the same again.
  package func restart(environment: [String: String]? = nil) throws {
    killAtOnce()
    try start(environment: environment)
  }

  /// `usherctl` against this daemon.
  package func usherctl(
    _ arguments: [String], input: String = ""
  ) throws -> (status: Int32, output: String, errors: String) {
    try run(
      BuiltProduct.path("usherctl"),
      ["--socket", socketPath, "--admin-socket", adminSocketPath] + arguments, input: input)
  }
}

/// A real usher-sandbox on a free port.
package final class SandboxUnderTest: Sendable {
  private let place: Workplace
  private let program: RunningProgram
  package let base: String

  package var issuer: String { "\(base)/oidc" }

  /// - Parameter arguments: More of its command line, such as `["--smtp", "smtp://127.0.0.1:2525"]`.
  package init(_ arguments: [String] = []) throws {
    place = try Workplace()
    program = try RunningProgram(
      BuiltProduct.path("usher-sandbox"), ["--port-file", place.file("port")] + arguments,
      log: place.file("sandbox.log"))
    var port = ""
    try eventually("the sandbox listens: \(program.log)") { [place] in
      port =
        FileManager.default.contents(atPath: place.file("port"))
        .map { String(decoding: $0, as: UTF8.self) }?
        .trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
      return !port.isEmpty
    }
    base = "http://127.0.0.1:\(port)"
  }

  /// From now on nobody answers at its address.
  package func killAtOnce() { program.killAtOnce() }

  /// A `[[provider]]` that leads here.
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
    let reply = try Web.send(
      method, "\(base)/_control/\(path)", json: body.map { $0.encoded() })
    guard (200..<300).contains(reply.status) else {
      throw TestTrouble("\(method) \(path): \(reply.status) \(reply.text)")
    }
    return reply.body.isEmpty ? .null : try JSONValue(parsing: reply.body)
  }

  /// How many token requests of a grant type the provider has seen.
  package func requests(_ endpoint: String, grantType: String? = nil) throws -> Int {
    let grant = grantType.map { "&grantType=\($0)" } ?? ""
    let reply = try control("GET", "requests?endpoint=\(endpoint)\(grant)")
    return Int(reply["count"]?.integerValue ?? -1)
  }
}
