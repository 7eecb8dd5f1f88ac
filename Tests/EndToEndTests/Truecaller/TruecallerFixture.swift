import Foundation
import JSONRPC
import UsherTestKit

/// A Truecaller, a daemon that knows it as `truecaller`, and an app at the daemon's socket; a test's
/// own.
struct TruecallerFixture: ProviderFixture {
  static let backend = "truecaller"

  static let appKey = "s3cret:app/key+="
  static let appLink = "https://acme.example.com/truecaller"
  static let number = "9876543210"

  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  let app: RawClient

  /// - Parameters:
  ///   - validation: The generation by which access tokens are checked.
  ///   - provider: More lines of the `[[provider]]`.
  ///   - more: More of the configuration, before the provider.
  ///   - clientID: For the validation of the OAuth SDK.
  ///   - appKey: The credential; nil sets none.
  ///   - clock: By which daemon and provider live; nil: this machine's.
  init(
    validation: String = "none", provider: String = "", more: String = "",
    clientID: String = "acme-oauth", appKey: String? = appKey,
    clock: MovableClock? = nil, logLevel: String = "debug"
  ) throws {
    sandbox = try SandboxUnderTest(clock: clock)
    daemon = try DaemonUnderTest(
      config: """
        \(more)
        [limits]
        flow_starts_per_minute = 10000

        \(sandbox.truecaller(validation, clientID: clientID, provider))
        """, clock: clock, logLevel: logLevel)
    app = try daemon.client()
    if let appKey { try daemon.setCredential("truecaller-app-key", appKey) }
  }

  init(_ sandbox: SandboxUnderTest, _ daemon: DaemonUnderTest, _ app: RawClient) {
    self.sandbox = sandbox
    self.daemon = daemon
    self.app = app
  }

  /// The same at another connection: another user's, or a new one after a restart of the daemon.
  func at(_ app: RawClient) -> TruecallerFixture { TruecallerFixture(sandbox, daemon, app) }
}

// MARK: - The provider

extension TruecallerFixture {
  /// The paths of those requests, in their order.
  func paths(_ endpoint: String) throws -> [String] {
    let log = try sandbox.control("GET", "requests?endpoint=truecaller.\(endpoint)")
    let lines = log["requests"]?.arrayValue ?? []
    return lines.sorted { ($0["number"]?.integerValue ?? 0) < ($1["number"]?.integerValue ?? 0) }
      .compactMap { $0["path"]?.stringValue }
  }

  /// What was sent, newest first.
  func messages() throws -> [JSONValue] {
    try outbox()
  }

  /// The code in the newest SMS.
  func code() throws -> String {
    guard let code = try messages().first?["code"]?.stringValue else {
      throw TestError("no code was sent")
    }
    return code
  }

  /// A code that is not the right one.
  func wrongCode() throws -> String {
    let code = try code()
    let zeros = String(repeating: "0", count: code.count)
    return code == zeros ? zeros.dropLast() + "1" : zeros
  }

  /// Who asked for codes, by the ids they gave themselves.
  func installations() throws -> [JSONValue] {
    try sandbox.control("GET", "truecaller/installations")["installations"]?.arrayValue ?? []
  }

  /// What a token of the number gets.
  func profile(_ number: String = number, _ country: String = "IN") throws -> JSONValue {
    try sandbox.control(
      "GET", "truecaller/profile?phoneNumber=\(number)&countryCode=\(country)")
  }
}

// MARK: - The daemon

extension TruecallerFixture {
  static func params(_ number: String = number, _ country: String = "IN") -> JSONValue {
    ["phoneNumber": .string(number), "countryCode": .string(country)]
  }

  /// Starts a verification; returns it at the code, or at its end.
  func verify(
    _ number: String = number, _ country: String = "IN", _ more: JSONValue = [:]
  ) throws -> JSONValue {
    try app.startFlow("truecaller", "verifyPhone", params: Self.params(number, country) + more)
  }

  /// Starts a verification and does not wait for anything.
  func start(_ number: String = number, _ country: String = "IN") throws -> JSONValue {
    try app.flow(
      in: app.call(
        "flow.start",
        [
          "provider": "truecaller", "kind": "verifyPhone",
          "params": Self.params(number, country),
        ]))
  }

  /// The reason of the refusal, and the field.
  func refusal(_ input: JSONValue, to flow: JSONValue) throws -> (String?, String?) {
    let data = try refusalData(input, to: flow)
    return (data["reason"]?.stringValue, data["field"]?.stringValue)
  }

  static func entry(_ code: String, _ first: String = "Asha", _ last: String? = "Rao") -> JSONValue
  {
    var fields: JSONValue = ["firstName": .string(first)]
    fields["lastName"] = last.map { .string($0) }
    return ["type": "enterCode", "code": .string(code), "fields": fields]
  }

  /// `verifySecurityCode(_:andUpdateFirstname:lastName:)`
  func enter(
    _ code: String, _ first: String = "Asha", _ last: String? = "Rao", to flow: JSONValue,
    waitMs: Int64 = 15_000
  ) throws -> JSONValue {
    try submit(Self.entry(code, first, last), to: flow, waitMs: waitMs)
  }

  func resend(_ flow: JSONValue) throws -> JSONValue {
    try submit(["type": "enterCode", "resend": true], to: flow)
  }

  /// The whole way by SMS, to its good end.
  @discardableResult
  func verified(_ number: String = number, _ country: String = "IN") throws -> JSONValue {
    let flow = try verify(number, country)
    let end = try enter(code(), to: flow)
    guard end["status"] == "succeeded" else { throw TestError("not verified: \(end.text)") }
    return end
  }
}

// MARK: - What is told by events

/// A client that hears of flows from now on.
struct Listener {
  private let client: RawClient

  init(_ daemon: DaemonUnderTest) throws {
    client = try daemon.client()
    _ = try client.call("events.subscribe", ["topics": ["flow"]])
  }

  /// All events from a flow's start until one has ended, in their order.
  func events() throws -> [JSONValue] {
    var events: [JSONValue] = []
    while let event = try client.receive()?["params"]?["event"] {
      // The end of a flow may be told a moment after its owner has been answered.
      if events.isEmpty && event["what"] != "started" { continue }
      events.append(event)
      if event["what"] == "finished" { return events }
    }
    throw TestError("no flow has ended: \(events)")
  }

  /// `otpInitiated` and the like, with the status where the flow has ended; each event is one
  /// revision.
  func states() throws -> [String] {
    let events = try events()
    let revisions = events.compactMap { $0["revision"]?.integerValue }
    guard revisions == Array(revisions[0]..<revisions[0] + Int64(events.count)) else {
      throw TestError("a revision is missing, or told twice: \(revisions)")
    }
    return events.map { event in
      let state = event["state"]?.stringValue ?? "none"
      return event["status"] == "active"
        ? state : "\(state) \(event["status"]?.stringValue ?? "none")"
    }
  }
}

extension SandboxUnderTest {
  /// A `[[provider]]` of type truecaller that leads here.
  func truecaller(
    _ validation: String = "none", clientID: String = "acme-oauth", _ more: String = ""
  ) -> String {
    let place =
      ["v2_8", "oauth"].contains(validation)
      ? "validation_base_url = \"\(base)/truecaller/validation\"" : ""
    return """
      [[provider]]
      name = "truecaller"
      type = "truecaller"
      app_key_credential = "truecaller-app-key"
      app_link = "\(TruecallerFixture.appLink)"
      client_id = "\(clientID)"
      validation = "\(validation)"
      otp_base_url = "\(base)/truecaller"
      profile_base_url_eu = "\(base)/truecaller/eu"
      profile_base_url_noneu = "\(base)/truecaller/noneu"
      \(place)
      \(more)

      """
  }
}

extension JSONValue {
  /// The reason of the problem, and the TCError.
  var problem: [String?] {
    [
      self["problem"]?["reason"]?.stringValue,
      self["problem"]?["provider"]?["code"]?.stringValue,
    ]
  }

  /// The reason of the failure, the TCError, and the server's own code.
  var failure: [String?] {
    let failure = self["failure"]
    return [
      failure?["reason"]?.stringValue, failure?["provider"]?["code"]?.stringValue,
      failure?["provider"]?["error"]?.stringValue,
    ]
  }

  /// A moment among its members.
  func time(_ name: String) throws -> Date {
    guard let text = self[name]?.stringValue,
      let time = try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text)
    else { throw TestError("no time \(name) in \(self.text)") }
    return time
  }

  /// When the code of the step is no longer good.
  func codeEnd() throws -> Date { try (self["step"] ?? .null).time("expiresAt") }

  static func + (left: JSONValue, right: JSONValue) -> JSONValue {
    var merged = left
    for (name, value) in right.objectValue ?? [:] { merged[name] = value }
    return merged
  }
}

/// Waits until a moment is over, by the clock that the daemon goes by too.
func passed(_ moment: Date) throws {
  try eventually("\(moment) is over") { Date() > moment }
}
