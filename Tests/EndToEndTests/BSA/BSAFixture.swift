import Foundation
import JSONRPC
import UsherTestKit

/// A BSA, a daemon that knows it as `bsa`, and an app at the daemon's socket; a test's own.
///
/// The person at the machine proves to be there by the passcode: there is a fingerprint reader only
/// where a test brings one.
struct BSAFixture: ProviderFixture {
  static let backend = "bsa"

  static let clientKey = "s3cret:bsa/client-key"
  static let appPackage = "com.example.app"
  static let passcode = "2580-passcode"

  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  let app: RawClient

  /// - Parameters:
  ///   - settings: Of the `[[provider]]`, as they are written, such as `["otp_seconds": "60"]`; over
  ///     those of ``defaults``.
  ///   - tables: More of the provider, such as `[provider.totp]` and its lines.
  ///   - more: More of the configuration, before the provider.
  ///   - clientKey: What is set as the credential; nil sets none.
  ///   - passcode: Of the user of this process; nil sets none.
  ///   - reader: An fprintd with a virtual reader.
  ///   - sandbox: Nil: one of its own.
  ///   - clock: The daemon's, and that of its own sandbox; nil: this machine's.
  ///   - place: Where the daemon lives; nil: a place of its own.
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

  /// Of the provider, where a test says nothing else.
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

  /// The same at another connection: another client's or user's, or a new one after a restart of
  /// the daemon.
  func at(_ app: RawClient) -> BSAFixture { BSAFixture(self, app) }

  /// Sets the passcode of whoever is at this scene's connection, who has none.
  func setPasscode(_ passcode: String = passcode) throws {
    _ = try app.call("localAuth.setPasscode", ["new": .string(passcode)])
  }
}

extension SandboxUnderTest {
  /// The base URL of its BSA.
  var bsa: String { "\(base)/bsa" }
}

// MARK: - The provider

extension BSAFixture {
  /// What the next call of a kind is answered.
  ///
  /// - Parameters:
  ///   - endpoint: As `mailVerify`.
  ///   - answer: Some of `rtCode`, `rtMsg`, `text`, `data`, `status`, `processed`.
  ///   - times: How many calls; 0 for all.
  func answers(_ endpoint: String, _ answer: JSONValue, times: Int64 = 1) throws {
    try sandbox.control(
      "POST", "bsa/answers",
      answer + ["endpoint": .string("bsa.\(endpoint)"), "times": .integer(times)])
  }

  func mend() throws {
    try sandbox.control("DELETE", "faults")
    try sandbox.control("DELETE", "bsa/answers")
  }

  /// The kinds of requests it has seen, in their order.
  func requestsInOrder() throws -> [String] {
    let log = try sandbox.control("GET", "requests")["requests"]?.arrayValue ?? []
    return log.compactMap { $0["endpoint"]?.stringValue }.filter { $0.hasPrefix("bsa.") }
      .map { String($0.dropFirst("bsa.".count)) }
  }

  /// Nil where nobody has that user key.
  func registration(_ userKey: String) throws -> JSONValue? {
    try list("registrations").first { $0["userKey"] == .string(userKey) }
  }

  /// Somebody registers elsewhere; what is left out is made up.
  func registerElsewhere(_ members: JSONValue) throws {
    try sandbox.control("POST", "bsa/registrations", members)
  }

  /// What was sent, newest first.
  ///
  /// - Parameter contact: To whom; nil: to anybody.
  func messages(to contact: String? = nil) throws -> [JSONValue] {
    let all = try outbox()
    return all.filter { contact == nil || $0["to"] == contact.map { .string($0) } }
  }

  /// The number that was sent last.
  func number(to contact: String? = nil) throws -> String {
    guard let number = try messages(to: contact).first?["code"]?.stringValue else {
      throw TestError("no number was sent")
    }
    return number
  }

  /// A number that is not the one that was sent last.
  func wrongNumber(to contact: String? = nil) throws -> String {
    let number = try number(to: contact)
    let zeros = String(repeating: "0", count: number.count)
    return number == zeros ? zeros.dropLast() + "1" : zeros
  }
}

// MARK: - The daemon

extension BSAFixture {
  /// Starts a flow; returns it at its first step for the person, or at its end.
  func start(_ kind: String, _ params: JSONValue) throws -> JSONValue {
    try app.startFlow("bsa", kind, params: params)
  }

  /// Starts a flow and does not wait for anything.
  func begin(_ kind: String, _ params: JSONValue) throws -> JSONValue {
    try app.flow(
      in: app.call(
        "flow.start", ["provider": "bsa", "kind": .string(kind), "params": params]))
  }

  /// The reason of the refusal, and the field.
  func refusal(_ input: JSONValue, to flow: JSONValue) throws -> [String?] {
    let data = try refusalData(input, to: flow)
    return [data["reason"]?.stringValue, data["field"]?.stringValue]
  }

  func enter(_ number: String, to flow: JSONValue, waitMs: Int64 = 30_000) throws -> JSONValue {
    try submit(["type": "enterCode", "code": .string(number)], to: flow, waitMs: waitMs)
  }

  func resend(_ flow: JSONValue) throws -> JSONValue {
    try submit(["type": "enterCode", "resend": true], to: flow)
  }

  /// Types the passcode where a flow has the person prove to be there.
  func prove(
    _ flow: JSONValue, by passcode: String = passcode, waitMs: Int64 = 30_000
  ) throws -> JSONValue {
    try submit(["type": "localAuth", "passcode": .string(passcode)], to: flow, waitMs: waitMs)
  }
}

extension JSONValue {
  var state: String? { self["state"]?.stringValue }
  var isScanning: Bool { self["step"]?["scanning"] == true }

  /// The reason of the problem, and the provider's rtCode.
  var problem: [String?] {
    let problem = self["problem"]
    return [problem?["reason"]?.stringValue, problem?["provider"]?["code"]?.stringValue]
  }

  /// The reason of the failure, the rtCode or the seed's word, and that word's rtCode.
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
