import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// Fixtures for the flows of Freedom ID's partner API.
enum Freedom {
  static let name = ProviderName("freedom")
  static let account = AccountID("acc_1")
  static let person = "5f0c1d2e-0000-4000-8000-000000000001"
  static let place = "http://127.0.0.1:40001/callback"

  static func provider(
    _ change: (inout FreedomIDSettings) throws -> Void = { _ in }
  ) throws -> ProviderConfig {
    var settings = FreedomIDSettings(mode: .oauth2)
    settings.clientID = "acme"
    settings.clientCredential = "freedom-secret"
    settings.consentDays = 365
    try change(&settings)
    return ProviderConfig(name: name, settings: settings)
  }

  static func refusal(_ status: Int, _ code: Int? = nil, _ message: String = "no") -> CallOutcome {
    .reply(
      reply(
        ["error": ["message": .string(message), "code": code.map { .integer(Int64($0)) } ?? nil]],
        status: status))
  }

  static let gone = CallOutcome.unreachable(message: "gone", sent: false)
  static let lost = CallOutcome.unreachable(message: "cut", sent: true)

  static func said(_ json: JSONValue, status: Int = 200) -> CallOutcome {
    .reply(reply(json, status: status))
  }

  /// Returns a token reply. An `error` of null is no error, here and in ``user(_:)``.
  static func tokens(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
    var members: [String: JSONValue] = [
      "id": "token-id-1", "access_token": "access-secret", "refresh_token": "refresh-secret",
      "access_expire_at": "2027-01-22T08:00:00.123456Z",
      "refresh_expire_at": "2027-02-12T08:00:00.123456Z", "error": .null,
    ]
    for (name, value) in changes { members[name] = value }
    return .object(members)
  }

  static func user(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
    var members: [String: JSONValue] = [
      "id": .string(person), "firstname": "Aigerim", "lastname": "Omarova",
      "date_of_birth": "1990-02-28", "phones": ["+77011234567"], "error": .null,
    ]
    for (name, value) in changes { members[name] = value }
    return .object(members)
  }
}

/// A flow of the partner API under test, with its clock and its source of random bytes.
struct PartnerFlow<Machine: FlowMachine> where Machine.Call == FreedomPartnerCall {
  typealias Call = FreedomPartnerCall

  var flow: Machine
  private(set) var last: Answer<Call>
  /// The latest call, which the next outcome answers.
  private(set) var pending: Call?
  var clock = now
  private let entropy = CountingEntropy()

  init(
    _ params: Machine.Params, account: KnownAccount? = nil, handoffSecrets: [HandoffSecret] = [],
    settings: (inout FreedomIDSettings) throws -> Void = { _ in }
  ) throws {
    let origin = FlowContext<FreedomIDSettings>(
      provider: try Provider(Freedom.provider(settings))!, account: account, requestID: "req-1",
      handoffSecrets: handoffSecrets)
    var moment = TransitionContext(now: clock, entropy: entropy)
    (flow, last) = try Machine.begin(params, origin, at: &moment)
    pending = calls.first
  }

  @discardableResult
  mutating func receive(_ event: FlowEvent<Call>) -> Answer<Call> {
    var moment = TransitionContext(now: clock, entropy: entropy)
    last = flow.receive(event, at: &moment)
    if let call = calls.first { pending = call }
    return last
  }

  /// Answers the latest call with this outcome.
  @discardableResult
  mutating func answered(_ outcome: CallOutcome) -> Answer<Call> {
    guard let pending else { return .ignore }
    return receive(.called(pending, outcome))
  }

  /// Stores and restores the flow, as a restarted daemon does.
  mutating func restart() throws {
    flow = try storedAndRead(flow)
    receive(.resumed)
  }

  var state: String { flow.view.state }

  var effects: [Effect<Call>] {
    if case .proceed(let effects) = last { effects } else { [] }
  }

  var calls: [Call] {
    effects.compactMap { if case .call(let call) = $0 { call } else { nil } }
  }

  var expectation: RedirectExpectation? {
    effects.compactMap { if case .listen(let expectation) = $0 { expectation } else { nil } }.first
  }

  var timer: Duration? {
    effects.compactMap { if case .wake(let after) = $0 { after } else { nil } }.first
  }

  var failure: Failure? {
    if case .fail(let failure, _) = last { failure } else { nil }
  }

  var word: String? { failure?.provider?.code }

  var completion: Completion? { Machine.completion(in: last) }

  var step: Step.OpenURL? {
    if case .openURL(let step) = flow.view.step { step } else { nil }
  }
}

/// A sign-in with a browser.
typealias PartnerAuthorize = PartnerFlow<FreedomPartnerAuthorize>

extension PartnerFlow where Machine == FreedomPartnerAuthorize {
  static var link: String { "https://passport.freedompay.kz/login?track_id=t-1" }

  init(
    grants: [String] = ["read.firstname", "read.date_of_birth", "read.profile"],
    account: KnownAccount? = nil, handoffSecrets: [HandoffSecret] = [],
    settings: (inout FreedomIDSettings) throws -> Void = { _ in }
  ) throws {
    try self.init(
      .init(grants: grants), account: account, handoffSecrets: handoffSecrets, settings: settings)
  }

  /// Reports that the listener has the requested path.
  mutating func listening() {
    guard let path = expectation?.path else { return }
    receive(.listening(redirectURI: "http://127.0.0.1:40001\(path)"))
  }

  /// Drives the flow until it shows the link.
  ///
  /// - Parameter seconds: How long the link is valid; nil if the link does not say.
  mutating func toBrowser(for seconds: Double? = nil) {
    listening()
    answerLink(for: seconds)
  }

  mutating func answerLink(for seconds: Double? = nil) {
    let end = seconds.map { "&expire_at=\(Int(clock.seconds + $0))" } ?? ""
    answered(Freedom.said(["redirect_uri": .string(Self.link + end), "error": .null]))
  }

  mutating func toExchange() {
    toBrowser()
    receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
  }

  mutating func toPerson() {
    toExchange()
    answered(Freedom.said(Freedom.tokens()))
  }
}
