import Foundation
import JSONRPC
import UsherTestKit

/// A Freedom ID, a daemon that knows it as `freedom`, and an app at the daemon's socket; a test's
/// own.
///
/// The person at the machine proves to be there by the passcode: there is a fingerprint reader only
/// where a test brings one.
struct FreedomScene {
  static let apiKey = "s3cret:freedom/api-key"
  static let passcode = "2580-passcode"

  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  /// The daemon's; the provider's clock stays this machine's.
  let clock: MovableClock
  let app: RawClient

  /// - Parameters:
  ///   - mode: The lines of the `[[provider]]` that make its mode, by the sandbox; nil: `device`.
  ///   - provider: More lines of it.
  ///   - more: More of the configuration, before the provider.
  ///   - credentials: What is set, by name.
  ///   - passcode: Of the user of this process; nil sets none.
  ///   - reader: An fprintd with a virtual reader.
  ///   - base: Where the provider is; nil: the sandbox.
  ///   - place: Where the daemon lives; nil: a place of its own.
  init(
    mode: ((SandboxUnderTest) -> String)? = nil, provider: String = "", more: String = "",
    credentials: [String: String] = ["freedom-api-key": apiKey],
    passcode: String? = passcode, reader: FprintdUnderTest? = nil, base: String? = nil,
    logLevel: String = "debug", at place: Workplace? = nil
  ) throws {
    let sandbox = try SandboxUnderTest()
    self.sandbox = sandbox
    clock = MovableClock()
    daemon = try DaemonUnderTest(
      config: """
        \(more)
        [limits]
        flow_starts_per_minute = 10000

        [[provider]]
        name = "freedom"
        type = "freedomid"
        base_url = "\(base ?? sandbox.freedom)"
        \(mode?(sandbox) ?? Self.device)
        \(provider)

        """, clock: clock, messageBus: reader?.busAddress ?? FprintdUnderTest.noBus,
      logLevel: logLevel, at: place)
    app = try daemon.client()
    for (name, value) in credentials { try daemon.setCredential(name, value) }
    if let passcode { try setPasscode(passcode) }
  }

  private static let device = """
    mode = "device"
    api_key_credential = "freedom-api-key"
    """

  private init(_ scene: FreedomScene, _ app: RawClient) {
    sandbox = scene.sandbox
    daemon = scene.daemon
    clock = scene.clock
    self.app = app
  }

  /// The same at another connection: another client's or user's, or a new one after a restart of
  /// the daemon.
  func at(_ app: RawClient) -> FreedomScene { FreedomScene(self, app) }

  func again() throws -> FreedomScene { at(try daemon.client()) }

  /// Restarts the daemon with a wall clock that is ahead by so many seconds.
  func restart(ahead seconds: Int64) throws {
    try clock.set(ahead: seconds)
    try daemon.restart()
  }

  /// Sets the passcode of whoever is at this scene's connection, who has none.
  func setPasscode(_ passcode: String = passcode) throws {
    _ = try app.call("localAuth.setPasscode", ["new": .string(passcode)])
  }
}

// MARK: - The provider

extension FreedomScene {
  func set(_ settings: JSONValue) throws {
    try sandbox.control("POST", "freedomid/settings", settings)
  }

  /// - Parameter times: How often it strikes; nil until it is mended.
  func spoil(_ endpoint: String, _ fault: JSONValue, times: Int? = nil) throws {
    var rule: JSONValue = ["endpoint": .string("freedomid.\(endpoint)"), "fault": fault]
    rule["times"] = times.map { .integer(Int64($0)) }
    try sandbox.control("POST", "faults", rule)
  }

  func mend() throws { try sandbox.control("DELETE", "faults") }

  /// How many requests of a name the provider has seen.
  func requests(_ endpoint: String) throws -> Int {
    try sandbox.requests("freedomid.\(endpoint)")
  }

  /// - Parameter list: `accounts`, `consents`, `tokens`, `people`.
  func list(_ list: String) throws -> [JSONValue] {
    try sandbox.control("GET", "freedomid/\(list)")[list]?.arrayValue ?? []
  }

  func person(_ name: String) throws -> JSONValue {
    guard let person = try list("people").first(where: { $0["username"] == .string(name) }) else {
      throw TestTrouble("there is nobody called \(name)")
    }
    return person
  }

  /// - Parameter channel: `sms`, `email`, `totp`, or `off`.
  func setTwoFactor(_ channel: String, of name: String) throws {
    try sandbox.control("POST", "freedomid/people/\(name)", ["twoFactor": .string(channel)])
  }

  /// What was sent, newest first.
  func messages() throws -> [JSONValue] {
    try sandbox.control("GET", "outbox")["messages"]?.arrayValue ?? []
  }

  /// The code that was sent last.
  func code() throws -> String {
    guard let code = try messages().first?["code"]?.stringValue else {
      throw TestTrouble("no code was sent")
    }
    return code
  }

  /// A code that is not the right one.
  func wrongCode() throws -> String {
    let code = try code()
    let zeros = String(repeating: "0", count: code.count)
    return code == zeros ? zeros.dropLast() + "1" : zeros
  }
}

// MARK: - The daemon

extension FreedomScene {
  static func grants(_ grants: [String]) -> JSONValue {
    ["grants": .array(grants.map { .string($0) })]
  }

  /// Starts an authorization; returns it at its first step for the person, or at its end.
  func authorize(_ grants: [String], _ more: JSONValue = [:]) throws -> JSONValue {
    try app.startFlow("freedom", "authorize", params: Self.grants(grants) + more)
  }

  /// Starts one and does not wait for anything.
  func start(_ grants: [String], _ more: JSONValue = [:]) throws -> JSONValue {
    try app.flow(
      in: app.call(
        "flow.start",
        ["provider": "freedom", "kind": "authorize", "params": Self.grants(grants) + more]))
  }

  /// Answers the step, and returns the flow at the next step that is not `wait`, or its end.
  func submit(_ input: JSONValue, to flow: JSONValue, waitMs: Int64 = 30_000) throws -> JSONValue {
    try app.flow(
      in: app.call("flow.submit", submission(input, to: flow, waitMs), within: 40))
  }

  /// The reason of the refusal, and the field.
  func refusal(_ input: JSONValue, to flow: JSONValue) throws -> [String?] {
    let reply = try app.reply(to: "flow.submit", submission(input, to: flow, 0))
    let data = reply["error"]?["data"]
    return [data?["reason"]?.stringValue, data?["field"]?.stringValue]
  }

  private func submission(_ input: JSONValue, to flow: JSONValue, _ waitMs: Int64) -> JSONValue {
    [
      "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "input": input,
      "waitMs": .integer(waitMs),
    ]
  }

  func flow(_ flow: JSONValue) throws -> JSONValue {
    try app.flow(in: app.call("flow.get", ["flow": flow["id"] ?? .null]))
  }

  func account(_ id: JSONValue?) throws -> JSONValue {
    try app.call("account.get", ["account": id ?? .null])["account"] ?? .null
  }

  func accounts() throws -> [JSONValue] {
    try app.call("account.list")["accounts"]?.arrayValue ?? []
  }

  /// What the caller sees of consents.
  func consents() throws -> [JSONValue] {
    try app.call("consent.list")["consents"]?.arrayValue ?? []
  }

  /// Waits until the flow has moved on to something that holds.
  func moved(
    _ flow: JSONValue, within seconds: Double = 20, _ what: String,
    until holds: (JSONValue) -> Bool
  ) throws -> JSONValue {
    var flow = flow
    let end = Date(timeIntervalSinceNow: seconds)
    while !holds(flow) {
      guard flow["status"] == "active", Date() < end else {
        throw TestTrouble("not within \(seconds) s: the flow \(what): \(flow.text)")
      }
      flow = try app.flow(
        in: app.call(
          "flow.wait",
          [
            "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 2000,
          ]))
    }
    return flow
  }
}

extension SandboxUnderTest {
  /// The base URL of its Freedom ID, in all modes.
  var freedom: String { "\(base)/freedomid" }
}

extension JSONValue {
  var text: String { String(decoding: encoded(), as: UTF8.self) }

  var state: String? { self["state"]?.stringValue }
  var stepType: String? { self["step"]?["type"]?.stringValue }

  /// The ids of what can be chosen at the step.
  var options: [String] {
    self["step"]?["options"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
  }

  /// The labels of what can be chosen at the step.
  var labels: [String] {
    self["step"]?["options"]?.arrayValue?.compactMap { $0["label"]?.stringValue } ?? []
  }

  /// What the step asks for, each with whether it is remembered.
  var asked: [String: Bool] {
    let grants = self["step"]?["grants"]?.arrayValue ?? []
    return grants.reduce(into: [:]) {
      $0[$1["id"]?.stringValue ?? "none"] = $1["remembered"] == true
    }
  }

  var profile: JSONValue { self["result"]?["profile"] ?? .null }

  var problem: String? { self["problem"]?["reason"]?.stringValue }

  /// The reason of the failure, the SDK's word, and the server's own code.
  var failure: [String?] {
    let failure = self["failure"]
    return [
      failure?["reason"]?.stringValue, failure?["provider"]?["code"]?.stringValue,
      failure?["provider"]?["error"]?.stringValue,
    ]
  }

  static func + (left: JSONValue, right: JSONValue) -> JSONValue {
    var merged = left
    for (name, value) in right.objectValue ?? [:] { merged[name] = value }
    return merged
  }
}
