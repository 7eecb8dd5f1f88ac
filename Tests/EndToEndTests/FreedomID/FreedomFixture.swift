import Foundation
import JSONRPC
import UsherTestKit

/// A fake Freedom ID, a daemon that has it as provider `freedom`, and a client connection; one set
/// for each test.
///
/// Local authentication is by passcode; there is a fingerprint reader only if a test passes one.
struct FreedomFixture: ProviderFixture {
  static let backend = "freedomid"

  static let apiKey = "s3cret:freedom/api-key"
  static let passcode = "2580-passcode"

  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  /// The daemon's clock; the provider uses the machine's.
  let clock: MovableClock
  let app: RawClient

  /// - Parameters:
  ///   - mode: Returns the lines of the `[[provider]]` that select its mode; nil: mode `device`.
  ///   - provider: More lines of the `[[provider]]`. Without `consent_days` in them, grants are
  ///     remembered for a year.
  ///   - more: TOML before the provider.
  ///   - credentials: The credentials to set, by name.
  ///   - passcode: The passcode of this process's user; nil sets none.
  ///   - reader: An fprintd with a virtual reader; nil: no message bus.
  ///   - base: The provider's base URL; nil: the sandbox's.
  ///   - place: The daemon's directory; nil creates one.
  init(
    mode: ((SandboxUnderTest) -> String)? = nil, provider: String = "", more: String = "",
    credentials: [String: String] = ["freedom-api-key": apiKey],
    passcode: String? = passcode, reader: FprintdUnderTest? = nil, base: String? = nil,
    logLevel: String = "debug", at place: TemporaryDirectory? = nil
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
        \(provider.contains("consent_days") ? "" : "consent_days = 365")
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

  private init(_ fixture: FreedomFixture, _ app: RawClient) {
    sandbox = fixture.sandbox
    daemon = fixture.daemon
    clock = fixture.clock
    self.app = app
  }

  /// Returns this fixture with another connection: another client's or user's, or a new one after a
  /// restart of the daemon.
  func at(_ app: RawClient) -> FreedomFixture { FreedomFixture(self, app) }

  /// Restarts the daemon with its wall clock set ahead.
  func restart(ahead seconds: Int64) throws {
    try clock.set(ahead: seconds)
    try daemon.restart()
  }

  /// Sets the first passcode of this connection's user.
  func setPasscode(_ passcode: String = passcode) throws {
    _ = try app.call("localAuth.setPasscode", ["new": .string(passcode)])
  }
}

// MARK: - The provider

extension FreedomFixture {
  func mend() throws { try sandbox.control("DELETE", "faults") }

  func person(_ name: String) throws -> JSONValue {
    guard let person = try list("people").first(where: { $0["username"] == .string(name) }) else {
      throw TestError("the sandbox has no person \(name)")
    }
    return person
  }

  /// - Parameter channel: `sms`, `email`, `totp`, or `off`.
  func setTwoFactor(_ channel: String, of name: String) throws {
    try sandbox.control("POST", "freedomid/people/\(name)", ["twoFactor": .string(channel)])
  }

  /// Returns the messages that the provider sent, newest first.
  func messages() throws -> [JSONValue] {
    try outbox()
  }

  /// Returns the code of the newest message.
  func code() throws -> String {
    guard let code = try messages().first?["code"]?.stringValue else {
      throw TestError("the outbox has no message with a code")
    }
    return code
  }

  /// Returns a code of the right length that differs from the newest one.
  func wrongCode() throws -> String {
    let code = try code()
    let zeros = String(repeating: "0", count: code.count)
    return code == zeros ? zeros.dropLast() + "1" : zeros
  }
}

// MARK: - The daemon

extension FreedomFixture {
  static func grants(_ grants: [String]) -> JSONValue {
    ["grants": .array(grants.map { .string($0) })]
  }

  /// Starts an authorization and returns it at the first step that needs input, or at its end.
  func authorize(_ grants: [String], _ more: JSONValue = [:]) throws -> JSONValue {
    try app.startFlow("freedom", "authorize", params: Self.grants(grants) + more)
  }

  /// Starts an authorization and returns it without waiting.
  func start(_ grants: [String], _ more: JSONValue = [:]) throws -> JSONValue {
    try app.flow(
      in: app.call(
        "flow.start",
        ["provider": "freedom", "kind": "authorize", "params": Self.grants(grants) + more]))
  }

  /// Returns the consents that the client sees.
  func consents() throws -> [JSONValue] {
    try app.call("consent.list")["consents"]?.arrayValue ?? []
  }
}

extension SandboxUnderTest {
  /// The base URL of the sandbox's Freedom ID, in all modes.
  var freedom: String { "\(base)/freedomid" }
}

extension JSONValue {
  var state: String? { self["state"]?.stringValue }

  /// The ids of a `choose` step's options.
  var options: [String] {
    self["step"]?["options"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
  }

  /// The labels of a `choose` step's options.
  var labels: [String] {
    self["step"]?["options"]?.arrayValue?.compactMap { $0["label"]?.stringValue } ?? []
  }

  /// The grants that the step asks for, with whether each was granted before.
  var asked: [String: Bool] {
    let grants = self["step"]?["grants"]?.arrayValue ?? []
    return grants.reduce(into: [:]) {
      $0[$1["id"]?.stringValue ?? "none"] = $1["remembered"] == true
    }
  }

  var profile: JSONValue { self["result"]?["profile"] ?? .null }

  var problem: String? { self["problem"]?["reason"]?.stringValue }

  static func + (left: JSONValue, right: JSONValue) -> JSONValue {
    var merged = left
    for (name, value) in right.objectValue ?? [:] { merged[name] = value }
    return merged
  }
}
