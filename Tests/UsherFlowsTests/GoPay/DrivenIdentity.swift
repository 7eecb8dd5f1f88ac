import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

let gopayName = ProviderName("gopay")
let device = "5b0f1c3e-0000-4000-8000-000000000002"

/// Returns a GoPay provider whose auth codes are redeemed as `exchange` says.
func gopay(
  _ exchange: GoPayExchange = .app, _ change: (inout GoPaySettings) throws -> Void = { _ in }
) throws -> ProviderConfig {
  var settings = GoPaySettings(clientID: "acme-sdk", merchantID: "merchant-1")
  settings.exchange = exchange
  settings.exchangeURL = try ProviderURL(setting: "https://backend.acme.example.com/exchange")
  settings.privateKeyCredential = "key"
  settings.clientSecretCredential = "secret"
  settings.channelID = "95221"
  try change(&settings)
  return ProviderConfig(name: gopayName, settings: settings)
}

/// Drives one `verify` flow with a settable clock and deterministic random bytes.
struct DrivenIdentity: DrivenMachine {
  var flow: VerifyIdentity
  private(set) var last: Answer<GoPayCall>
  /// The latest call.
  private(set) var pending: GoPayCall?
  var clock = now
  private let entropy = CountingEntropy()

  init(
    _ receiver: VerifyIdentity.CredentialReceiver = .exchange, token: String? = nil,
    account: KnownAccount? = nil, requestID: String? = "req-1",
    correlationID: String? = "corr-5678", provider: ProviderConfig? = nil,
    credentials: [String: Secret] = ["key": PartnerKeys.good, "secret": Secret("client-secret")],
    endsAt: Timestamp = .latest, attributes: [String: JSONValue] = [:],
    _ change: (inout VerifyIdentity.Params) -> Void = { _ in }
  ) throws {
    var params = VerifyIdentity.Params(credentialReceiver: receiver)
    params.userCorrelationId = correlationID
    params.token = token.map { WireSecret($0) }
    params.account = account?.id
    change(&params)
    let origin = FlowContext<GoPaySettings>(
      provider: try Provider(provider ?? gopay())!, account: account,
      requestID: requestID ?? "flw_1",
      statedRequestID: requestID, endsAt: endsAt, installationID: device,
      credential: CredentialCheck(nil, named: credentials), attributes: attributes)
    var moment = TransitionContext(now: clock, entropy: entropy)
    (flow, last) = try VerifyIdentity.begin(params, origin, at: &moment)
    pending = calls.last
  }

  @discardableResult
  mutating func receive(_ event: FlowEvent<GoPayCall>) -> Answer<GoPayCall> {
    var moment = TransitionContext(now: clock, entropy: entropy)
    last = flow.receive(event, at: &moment)
    pending = calls.last ?? pending
    return last
  }

  /// Delivers `outcome` as the outcome of the latest call.
  @discardableResult
  mutating func answered(_ outcome: CallOutcome) -> Answer<GoPayCall> {
    guard let pending else { return .ignore }
    return receive(.called(pending, outcome))
  }

  @discardableResult
  mutating func answered(_ json: JSONValue, status: Int = 200) -> Answer<GoPayCall> {
    answered(.reply(reply(json, status: status)))
  }

  /// Delivers a success in the format of the identity and capture APIs.
  @discardableResult
  mutating func answered(data: JSONValue) -> Answer<GoPayCall> {
    answered(["success": true, "data": data])
  }

  /// Delivers a refusal in the format of the identity and capture APIs.
  @discardableResult
  mutating func refused(_ status: Int, _ code: Int64, _ cause: String = "NO") -> Answer<GoPayCall> {
    answered(Self.refusal(code, cause), status: status)
  }

  static func refusal(_ code: Int64, _ cause: String = "NO") -> JSONValue {
    [
      "success": false,
      "errors": [["code": .integer(code), "entity": "FLOW_MANAGER", "cause": .string(cause)]],
    ]
  }

  static let gone = CallOutcome.unreachable(message: "gone", sent: true)
  static let redirectURI = "http://127.0.0.1:40001/callback"
  static let knownAccount = KnownAccount(id: AccountID("acc_1"), subject: "corr-5678")

  /// Fails the latest call five times. Checks that each failure is followed by a pause, twice as
  /// long as the one before, and by the same call.
  mutating func waitOutFive(
    _ outcome: CallOutcome = gone, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let call = pending
    for seconds in [1, 2, 4, 8, 16] {
      answered(outcome)
      let paused = last
      #expect(
        paused == .proceed([.wake(after: .seconds(seconds))]), sourceLocation: sourceLocation)
      #expect(problem?.reason == "provider_unreachable", sourceLocation: sourceLocation)
      let early = answered(outcome)
      receive(.woken)
      let again = calls
      let twice = receive(.woken)
      #expect(early == .ignore && twice == .ignore, sourceLocation: sourceLocation)
      #expect(again == call.map { [$0] }, sourceLocation: sourceLocation)
    }
  }

  /// Stores the flow, reads it back and resumes it, as after `kill -9`.
  mutating func restart() throws {
    flow = try storedAndRead(flow)
    receive(.resumed)
  }

  // MARK: Advancing the flow

  mutating func toBrowser() { receive(.listening(redirectURI: Self.redirectURI)) }

  mutating func cameBack() {
    receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
  }

  /// Advances to the exchange, through the log-in page or the auth-code call.
  mutating func toExchange() {
    switch state {
    case "preparing":
      toBrowser()
      cameBack()
    case "login": cameBack()
    default: answered(data: ["authCode": "code-secret"])
    }
  }

  /// Advances to the call for the capture token, with a successful exchange by the app.
  mutating func toKYC(token: String? = nil) {
    toExchange()
    var fields = ["userCorrelationId": Secret("corr-5678")]
    fields["token"] = token.map { Secret($0) }
    receive(.input(.exchanged(fields)))
  }

  static let page = "https://onekyc.example.com/c/1?session=1"

  /// Advances from the call for the capture token to the capture page.
  mutating func toPage() {
    answered(data: ["token": "capture-secret"])
    answered(data: ["submissionId": "sub-1", "url": .string(Self.page)])
  }

  mutating func submit() {
    receive(.woken)
    answered(data: ["submissionId": "sub-1", "status": "SUBMITTED"])
  }
}

// The outcome of the flow.
extension DrivenIdentity {
  /// The SDK's code of the failure, such as `GPE-2206`.
  var code: String? { failure?.provider?.code }

  var cleanUp: [GoPayCall] {
    if case .fail(_, let calls) = last { calls } else { [] }
  }

  var kyc: JSONValue? { grant?.attributes["kyc"] }
}
