import Foundation
import JSONRPC
import UsherTestKit

/// A fake BSA, a daemon that has it as provider `bsa`, and a client connection; one set for each
/// test.
///
/// Local authentication is by passcode; there is a fingerprint reader only if a test passes one.
struct BSAFixture: ProviderFixture {
  static let backend = "bsa"

  static let clientKey = "s3cret:bsa/client-key"
  static let appPackage = "com.example.app"
  static let passcode = "2580-passcode"

  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  let app: RawClient

  /// - Parameters:
  ///   - settings: Settings of the `[[provider]]` in TOML, such as `["otp_seconds": "60"]`; they
  ///     override ``defaults``.
  ///   - tables: TOML after the provider's settings, such as the table `[provider.totp]`.
  ///   - more: TOML before the provider.
  ///   - clientKey: The value of the client key's credential; nil sets none.
  ///   - passcode: The passcode of this process's user; nil sets none.
  ///   - reader: An fprintd with a virtual reader; nil: no message bus.
  ///   - sandbox: An existing sandbox; nil starts one.
  ///   - clock: The clock of the daemon and of a sandbox started here; nil: the machine's.
  ///   - place: The daemon's directory; nil creates one.
  init(
    _ settings: [String: String] = [:], tables: String = "", more: String = "",
    clientKey: String? = clientKey, passcode: String? = passcode,
    reader: FprintdUnderTest? = nil, sandbox: SandboxUnderTest? = nil,
    clock: MovableClock? = nil, logLevel: String = "debug", at place: TemporaryDirectory? = nil
  ) throws {
    let sandbox = try sandbox ?? SandboxUnderTest(clock: clock)
    self.sandbox = sandbox
    let lines = Self.defaults.merging(["base_url": "\"\(sandbox.bsa)\""]) { $1 }
      .merging(settings) { $1 }
      .sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
    daemon = try DaemonUnderTest(
      config: """
        \(more)
        [limits]
        flow_starts_per_minute = 10000
        registration_checks_per_minute = 10000

        [[provider]]
        name = "bsa"
        type = "bsa"
        \(lines.joined(separator: "\n"))
        \(tables)

        """, clock: clock, messageBus: reader?.busAddress ?? FprintdUnderTest.noBus,
      logLevel: logLevel, at: place)
    app = try daemon.client()
    if let clientKey { try daemon.setCredential("bsa-client-key", clientKey) }
    if let passcode { try setPasscode(passcode) }
  }

  /// The provider's settings, unless a test overrides them.
  static let defaults = [
    "client_key_credential": "\"bsa-client-key\"", "app_package": "\"\(appPackage)\"",
    "app_version": "\"1.0.0\"", "registration_checks": "true", "resend_seconds": "1",
    "poll_seconds": "1",
  ]

  private init(_ fixture: BSAFixture, _ app: RawClient) {
    sandbox = fixture.sandbox
    daemon = fixture.daemon
    self.app = app
  }

  /// Returns this fixture with another connection: another client's or user's, or a new one after a
  /// restart of the daemon.
  func at(_ app: RawClient) -> BSAFixture { BSAFixture(self, app) }

  /// Sets the first passcode of this connection's user.
  func setPasscode(_ passcode: String = passcode) throws {
    _ = try app.call("localAuth.setPasscode", ["new": .string(passcode)])
  }
}

extension SandboxUnderTest {
  /// The base URL of the sandbox's BSA.
  var bsa: String { "\(base)/bsa" }
}

// MARK: - The provider

extension BSAFixture {
  /// Sets the answer to the next calls of an endpoint.
  ///
  /// - Parameters:
  ///   - endpoint: Such as `mailVerify`.
  ///   - answer: Any of `rtCode`, `rtMsg`, `text`, `data`, `status`, `processed`.
  ///   - times: The number of calls; 0: all.
  func answers(_ endpoint: String, _ answer: JSONValue, times: Int64 = 1) throws {
    try sandbox.control(
      "POST", "bsa/answers",
      answer + ["endpoint": .string("bsa.\(endpoint)"), "times": .integer(times)])
  }

  func mend() throws {
    try sandbox.control("DELETE", "faults")
    try sandbox.control("DELETE", "bsa/answers")
  }

  /// Returns the endpoints of BSA's requests, in order.
  func requestsInOrder() throws -> [String] {
    let log = try sandbox.control("GET", "requests")["requests"]?.arrayValue ?? []
    return log.compactMap { $0["endpoint"]?.stringValue }.filter { $0.hasPrefix("bsa.") }
      .map { String($0.dropFirst("bsa.".count)) }
  }

  /// Returns BSA's registration of a user key, or nil if there is none.
  func registration(_ userKey: String) throws -> JSONValue? {
    try list("registrations").first { $0["userKey"] == .string(userKey) }
  }

  /// Adds a registration at BSA as if made on another device; members left out get default values.
  func registerElsewhere(_ members: JSONValue) throws {
    try sandbox.control("POST", "bsa/registrations", members)
  }

  /// Returns the messages that BSA sent, newest first.
  ///
  /// - Parameter contact: The recipient; nil: any.
  func messages(to contact: String? = nil) throws -> [JSONValue] {
    let all = try outbox()
    return all.filter { contact == nil || $0["to"] == contact.map { .string($0) } }
  }

  /// Returns the OTP of the newest message.
  func number(to contact: String? = nil) throws -> String {
    guard let number = try messages(to: contact).first?["code"]?.stringValue else {
      throw TestError("the outbox has no message with an OTP")
    }
    return number
  }

  /// Returns an OTP of the right length that differs from the newest one.
  func wrongNumber(to contact: String? = nil) throws -> String {
    let number = try number(to: contact)
    let zeros = String(repeating: "0", count: number.count)
    return number == zeros ? zeros.dropLast() + "1" : zeros
  }
}

// MARK: - The daemon

extension BSAFixture {
  /// Starts a flow and returns it at the first step that needs input, or at its end.
  func start(_ kind: String, _ params: JSONValue) throws -> JSONValue {
    try app.startFlow("bsa", kind, params: params)
  }

  /// Starts a flow and returns it without waiting.
  func begin(_ kind: String, _ params: JSONValue) throws -> JSONValue {
    try app.flow(
      in: app.call(
        "flow.start", ["provider": "bsa", "kind": .string(kind), "params": params]))
  }

  func enter(_ number: String, to flow: JSONValue, waitMs: Int64 = 60_000) throws -> JSONValue {
    try submit(["type": "enterCode", "code": .string(number)], to: flow, waitMs: waitMs)
  }

  /// Submits the passcode to a `localAuth` step.
  func prove(
    _ flow: JSONValue, by passcode: String = passcode, waitMs: Int64 = 60_000
  ) throws -> JSONValue {
    try submit(["type": "localAuth", "passcode": .string(passcode)], to: flow, waitMs: waitMs)
  }
}

extension JSONValue {
  var state: String? { self["state"]?.stringValue }
  var isScanning: Bool { self["step"]?["scanning"] == true }

  /// The `reason` of the problem, and the provider's rtCode.
  var problem: [String?] {
    let problem = self["problem"]
    return [problem?["reason"]?.stringValue, problem?["provider"]?["code"]?.stringValue]
  }

  static func + (left: JSONValue, right: JSONValue) -> JSONValue {
    var merged = left
    for (name, value) in right.objectValue ?? [:] { merged[name] = value }
    return merged
  }
}
