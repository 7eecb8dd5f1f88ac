import Foundation
import JSONRPC
import UsherTestKit

/// A fake Truecaller, a daemon that has it as provider `truecaller`, and a client connection; one
/// set for each test.
struct TruecallerFixture: ProviderFixture {
  static let backend = "truecaller"

  static let appKey = "s3cret:app/key+="
  static let appLink = "https://acme.example.com/truecaller"
  static let number = "9876543210"

  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  let app: RawClient

  /// - Parameters:
  ///   - validation: The generation of the server-side validation of access tokens.
  ///   - provider: More lines of the `[[provider]]`.
  ///   - more: TOML before the provider.
  ///   - clientID: The client id for validation `oauth`.
  ///   - appKey: The value of the app key's credential; nil sets none.
  ///   - clock: The clock of daemon and sandbox; nil: the machine's.
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

  /// Returns this fixture with another connection: another user's, or a new one after a restart of
  /// the daemon.
  func at(_ app: RawClient) -> TruecallerFixture { TruecallerFixture(sandbox, daemon, app) }
}

// MARK: - The provider

extension TruecallerFixture {
  /// Returns the paths of an endpoint's requests, in order.
  func paths(_ endpoint: String) throws -> [String] {
    let log = try sandbox.control("GET", "requests?endpoint=truecaller.\(endpoint)")
    let lines = log["requests"]?.arrayValue ?? []
    return lines.sorted { ($0["number"]?.integerValue ?? 0) < ($1["number"]?.integerValue ?? 0) }
      .compactMap { $0["path"]?.stringValue }
  }

  /// Returns the messages that the provider sent, newest first.
  func messages() throws -> [JSONValue] {
    try outbox()
  }

  /// Returns the code of the newest SMS.
  func code() throws -> String {
    guard let code = try messages().first?["code"]?.stringValue else {
      throw TestError("the outbox has no SMS with a code")
    }
    return code
  }

  /// Returns a code of the right length that differs from the newest one.
  func wrongCode() throws -> String {
    let code = try code()
    let zeros = String(repeating: "0", count: code.count)
    return code == zeros ? zeros.dropLast() + "1" : zeros
  }

  /// Returns the installations that have requested codes, by their device ids.
  func installations() throws -> [JSONValue] {
    try sandbox.control("GET", "truecaller/installations")["installations"]?.arrayValue ?? []
  }

  /// Returns the provider's profile of a number.
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

  /// Starts a verification and returns it at the step that asks for the code, or at its end.
  func verify(
    _ number: String = number, _ country: String = "IN", _ more: JSONValue = [:]
  ) throws -> JSONValue {
    try app.startFlow("truecaller", "verifyPhone", params: Self.params(number, country) + more)
  }

  /// Starts a verification and returns it without waiting.
  func start(_ number: String = number, _ country: String = "IN") throws -> JSONValue {
    try app.flow(
      in: app.call(
        "flow.start",
        [
          "provider": "truecaller", "kind": "verifyPhone",
          "params": Self.params(number, country),
        ]))
  }

  static func entry(_ code: String, _ first: String = "Asha", _ last: String? = "Rao") -> JSONValue
  {
    var fields: JSONValue = ["firstName": .string(first)]
    fields["lastName"] = last.map { .string($0) }
    return ["type": "enterCode", "code": .string(code), "fields": fields]
  }

  /// Submits code and names, as the SDK's `verifySecurityCode(_:andUpdateFirstname:lastName:)`
  /// does.
  func enter(
    _ code: String, _ first: String = "Asha", _ last: String? = "Rao", to flow: JSONValue,
    waitMs: Int64 = 60_000
  ) throws -> JSONValue {
    try submit(Self.entry(code, first, last), to: flow, waitMs: waitMs)
  }

  /// Verifies a number by SMS; throws unless the flow succeeds.
  @discardableResult
  func verified(_ number: String = number, _ country: String = "IN") throws -> JSONValue {
    let flow = try verify(number, country)
    let end = try enter(code(), to: flow)
    guard end["status"] == "succeeded" else {
      throw TestError("the verification did not succeed: \(end.text)")
    }
    return end
  }
}

// MARK: - Events

/// A client that is subscribed to events about flows.
struct Listener {
  private let client: RawClient

  init(_ daemon: DaemonUnderTest) throws {
    client = try daemon.client()
    _ = try client.call("events.subscribe", ["topics": ["flow"]])
  }

  /// Returns the events from the start of a flow to the next end of one, in order.
  func events() throws -> [JSONValue] {
    var events: [JSONValue] = []
    while let event = try client.receive()?["params"]?["event"] {
      // The event of an earlier flow's end may arrive after the reply to that flow's client.
      if events.isEmpty && event["what"] != "started" { continue }
      events.append(event)
      if event["what"] == "finished" { return events }
    }
    throw TestError("the connection was closed before the flow ended; received: \(events)")
  }

  /// Returns the states of the events, such as `otpInitiated`, with the status once the flow has
  /// ended. Throws unless each event is one revision.
  func states() throws -> [String] {
    let events = try events()
    let revisions = events.compactMap { $0["revision"]?.integerValue }
    guard revisions == Array(revisions[0]..<revisions[0] + Int64(events.count)) else {
      throw TestError("a revision is missing or repeated: \(revisions)")
    }
    return events.map { event in
      let state = event["state"]?.stringValue ?? "none"
      return event["status"] == "active"
        ? state : "\(state) \(event["status"]?.stringValue ?? "none")"
    }
  }
}

extension SandboxUnderTest {
  /// Returns a `[[provider]]` of type `truecaller` with this sandbox's URLs.
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
  /// The `reason` of the problem, and the TCError.
  var problem: [String?] {
    [
      self["problem"]?["reason"]?.stringValue,
      self["problem"]?["provider"]?["code"]?.stringValue,
    ]
  }

  /// The time at which the step's code expires.
  func codeEnd() throws -> Date { try (self["step"] ?? .null).time("expiresAt") }

  static func + (left: JSONValue, right: JSONValue) -> JSONValue {
    var merged = left
    for (name, value) in right.objectValue ?? [:] { merged[name] = value }
    return merged
  }
}
