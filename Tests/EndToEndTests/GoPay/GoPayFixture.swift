import Foundation
import JSONRPC
import UsherTestKit

/// A fake GoPay, a daemon that has it as provider `gopay`, and a client connection; one set for
/// each test.
struct GoPayFixture: ProviderFixture {
  static let backend = "gopay"

  /// The part that redeems auth codes: the setting `exchange`.
  enum Mode: String, CaseIterable, Sendable { case app, backend, snap }

  static let clientSecret = "s3cret:snap/key+="
  static let exchangeCredential = "s3cret:exchange/key+="
  static let callbackCredential = "s3cret:callback/key+="
  static let person = "corr-5678"

  let sandbox: SandboxUnderTest
  let daemon: DaemonUnderTest
  let app: RawClient
  /// The port on which the daemon accepts callbacks.
  let callbackPort: Int

  /// - Parameters:
  ///   - provider: More lines of the `[[provider]]`.
  ///   - more: TOML before the provider.
  ///   - limits: More lines of `[limits]`.
  ///   - isSet: Whether the mode's credentials are set.
  ///   - clock: The clock of daemon and sandbox; nil: the machine's.
  init(
    _ mode: Mode = .app, provider: String = "", more: String = "", limits: String = "",
    isSet: Bool = true, clock: MovableClock? = nil, logLevel: String = "debug"
  ) throws {
    sandbox = try SandboxUnderTest(clock: clock)
    callbackPort = try LoopbackPort.unused()
    daemon = try DaemonUnderTest(
      config: """
        \(more)
        [limits]
        flow_starts_per_minute = 10000
        \(limits)

        \(sandbox.gopay(mode, "callback_listen = \"127.0.0.1:\(callbackPort)\"\n\(provider)"))
        """, clock: clock, logLevel: logLevel)
    app = try daemon.client()
    if isSet { try setCredentials(mode) }
  }

  private init(_ other: GoPayFixture, _ app: RawClient) {
    sandbox = other.sandbox
    daemon = other.daemon
    callbackPort = other.callbackPort
    self.app = app
  }

  /// Returns this fixture with another connection: another user's, or a new one after a restart of
  /// the daemon.
  func at(_ app: RawClient) -> GoPayFixture { GoPayFixture(self, app) }

  private func setCredentials(_ mode: Mode) throws {
    try setCredential("gopay-callback", Self.callbackCredential)
    switch mode {
    case .app: break
    case .backend: try setCredential("gopay-exchange", Self.exchangeCredential)
    case .snap:
      try setCredential("gopay-client-secret", Self.clientSecret)
      try setCredential("gopay-private-key", privateKey())
    }
  }

  func setCredential(_ name: String, _ value: String) throws {
    try daemon.setCredential(name, value)
  }
}

// MARK: - The provider

extension GoPayFixture {
  /// Returns the partner's private key, which signs requests for SNAP's client token.
  func privateKey() throws -> String {
    try sandbox.control("GET", "gopay/key")["privateKey"]?.stringValue ?? ""
  }

  /// Returns the number of requests to the provider.
  func allRequests() throws -> Int {
    let log = try sandbox.control("GET", "requests")
    let lines = log["requests"]?.arrayValue ?? []
    return lines.count { $0["endpoint"]?.stringValue?.hasPrefix("gopay.") == true }
  }

  func submissions() throws -> [JSONValue] {
    try list("submissions")
  }

  /// Returns the states of the provider's auth codes, oldest first.
  func codeStates() throws -> [String] {
    try list("codes").compactMap { $0["state"]?.stringValue }
  }

  /// Returns the number of linking tokens in a state.
  func tokens(_ state: String) throws -> Int {
    try list("tokens").count { $0["state"] == .string(state) }
  }

  /// Redeems an auth code as a partner's backend does; returns the linking token.
  func redeem(_ code: String) throws -> String {
    let reply = try sandbox.control("POST", "gopay/redeem", ["authCode": .string(code)])
    return reply["token"]?.stringValue ?? ""
  }

  /// Sets the status of a submission at GoPay; if it is final, GoPay calls the partner back.
  ///
  /// - Returns: The HTTP statuses of the daemon's answers.
  @discardableResult
  func decide(
    _ submission: String, _ status: String, _ result: String? = nil, reason: String? = nil,
    push: Bool = true
  ) throws -> [Int64] {
    var change: JSONValue = ["status": .string(status), "push": .bool(push)]
    change["result"] = result.map { .string($0) }
    change["reasonCode"] = reason.map { .string($0) }
    return try answers(sandbox.control("POST", "gopay/submissions/\(submission)", change))
  }

  /// Has GoPay call the partner back, correctly or with a fault.
  ///
  /// - Returns: The HTTP statuses of the daemon's answers.
  @discardableResult
  func push(_ submission: String, _ more: JSONValue = [:]) throws -> [Int64] {
    let request: JSONValue = ["url": .string(callbackURL)]
    return try answers(
      sandbox.control("POST", "gopay/submissions/\(submission)/push", request + more))
  }

  private func answers(_ reply: JSONValue) -> [Int64] {
    (reply["answers"]?.arrayValue ?? []).map { $0["status"]?.integerValue ?? 0 }
  }

  var callbackURL: String { "http://127.0.0.1:\(callbackPort)/v1/callback/partner" }

  /// Sends any callback request to the daemon.
  func call(
    _ body: JSONValue, authorization: String? = callbackCredential, method: String = "PUT",
    path: String? = nil
  ) throws -> (status: Int, body: JSONValue) {
    var headers: [String: String] = [:]
    headers["authorization"] = authorization
    let reply = try Web.send(
      method, path.map { "http://127.0.0.1:\(callbackPort)\($0)" } ?? callbackURL,
      body: body.encoded(), type: "application/json", headers: headers)
    return (reply.status, (try? JSONValue(parsing: reply.body)) ?? .null)
  }
}

// MARK: - The daemon

extension GoPayFixture {
  /// Starts a verification and returns it at the first step other than `wait`, or at its end.
  ///
  /// - Parameters:
  ///   - receiver: `exchange` or `none`.
  ///   - requestID: The request id, by default a new one; empty: none.
  func verify(
    _ receiver: String = "exchange", token: String? = nil, person: String = person,
    requestID: String = UUID().uuidString, more: JSONValue = [:], waitMs: Int64 = 60_000
  ) throws -> JSONValue {
    try app.flow(
      in: app.call(
        "flow.start",
        Self.start(receiver, token, person, requestID, more: more) + ["waitMs": .integer(waitMs)],
        within: 120))
  }

  static func start(
    _ receiver: String, _ token: String?, _ person: String = person,
    _ requestID: String = UUID().uuidString, more: JSONValue = [:]
  ) -> JSONValue {
    var params: JSONValue = [
      "userCorrelationId": .string(person), "credentialReceiver": .string(receiver),
    ]
    params["token"] = token.map { .string($0) }
    var start: JSONValue = ["provider": "gopay", "kind": "verify", "params": params + more]
    if !requestID.isEmpty { start["requestId"] = .string(requestID) }
    return start
  }

  /// Starts a verification without an exchange and returns it at the capture page.
  func atCapture(
    _ token: String = "alice-long-term", person: String = person,
    requestID: String = UUID().uuidString, more: JSONValue = [:]
  ) throws -> JSONValue {
    let flow = try verify(
      "none", token: token, person: person, requestID: requestID, more: more)
    guard flow.completes == "poll" else {
      throw TestError("the flow is not at the capture page: \(flow.text)")
    }
    return flow
  }

  /// Completes a verification without an exchange; throws unless it succeeds.
  @discardableResult
  func verified(
    _ token: String = "alice-long-term", person: String = person,
    requestID: String = UUID().uuidString
  ) throws -> JSONValue {
    let back = "https://partner.example/done"
    let flow = try atCapture(
      token, person: person, requestID: requestID, more: ["returnUrl": .string(back)])
    try Self.photograph(at: flow.url)
    // The redirect URL makes the daemon poll at once; it may have polled already.
    _ = try app.reply(
      to: "flow.submit",
      submission(["type": "openURL", "redirectURL": .string(back)], to: flow, 0))
    let end = try app.finished(flow)
    guard end["status"] == "succeeded" else {
      throw TestError("the verification did not succeed: \(end.text)")
    }
    return end
  }

  /// Submits the photographs at the capture page and waits for the flow's end.
  func handIn(_ flow: JSONValue, action: String = "submit") throws -> JSONValue {
    try Self.photograph(at: flow.url, action)
    return try app.finished(flow)
  }

  @discardableResult
  static func photograph(at page: String, _ action: String = "submit") throws -> Web.Reply {
    let reply = try Web.post(page, form: ["action": action])
    guard [200, 303].contains(reply.status) else {
      throw TestError("the capture page answered \(reply.status): \(reply.text)")
    }
    return reply
  }

  /// The input of an app whose backend has exchanged the code.
  static func exchanged(_ person: String = person, token: String? = nil) -> JSONValue {
    var success: JSONValue = ["userCorrelationId": .string(person)]
    success["token"] = token.map { .string($0) }
    return ["type": "exchangeCredential", "success": success]
  }

  static func failed(_ reason: String) -> JSONValue {
    ["type": "exchangeCredential", "failure": ["reason": .string(reason)]]
  }

  func kyc(of end: JSONValue) throws -> JSONValue {
    try account(of: end)["attributes"]?["kyc"] ?? .null
  }
}

extension SandboxUnderTest {
  /// Returns a `[[provider]]` of type `gopay` with this sandbox's URLs.
  func gopay(_ mode: GoPayFixture.Mode, _ more: String = "") -> String {
    let exchange =
      switch mode {
      case .app: ""
      case .backend:
        """
        exchange_url = "\(base)/gopay/partner/exchange"
        exchange_credential = "gopay-exchange"
        """
      case .snap:
        """
        private_key_credential = "gopay-private-key"
        client_secret_credential = "gopay-client-secret"
        channel_id = "95221"
        """
      }
    return """
      [[provider]]
      name = "gopay"
      type = "gopay"
      client_id = "acme-sdk"
      merchant_id = "8f0c7a52-7a5e-4e61-9a77-0d9f1f6f1c11"
      exchange = "\(mode.rawValue)"
      snap_base_url = "\(base)/gopay/snap"
      identity_base_url = "\(base)/gopay/identity"
      capture_base_url = "\(base)/gopay/capture"
      callback_credential = "gopay-callback"
      poll_seconds = 1
      \(exchange)
      \(more)

      """
  }
}
