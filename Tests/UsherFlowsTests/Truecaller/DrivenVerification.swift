import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

let phones = ProviderName("truecaller")
let appKey = Secret("app-key-secret")
let installation = "5b0f1c3e-0000-4000-8000-000000000001"
let otp = Secret("123456")
let verificationToken = Secret("verification-secret")
let otpToken = Secret("otp-access-secret")

func truecaller(
  _ change: (inout TruecallerSettings) -> Void = { _ in }
) -> ProviderConfig {
  var settings = TruecallerSettings(
    appKeyCredential: "app-key", appLink: "https://acme.example.com/truecaller")
  change(&settings)
  return ProviderConfig(name: phones, settings: settings)
}

func phone(_ text: String = "9876543210", _ country: String = "IN") throws -> PhoneNumber {
  try PhoneNumber(text, country: country)
}

/// Drives one `verifyPhone` flow and keeps its last answer.
struct DrivenVerification: AnsweredMachine {
  var flow: VerifyPhone
  private(set) var last: Answer<TruecallerCall>
  /// Whether a request of the flow to store its account is confirmed at once.
  var keeps = true
  /// The accounts that the flow has asked the daemon to store.
  private(set) var stored: [AccountGrant] = []

  init(
    _ number: String = "9876543210", _ country: String = "IN",
    provider: ProviderConfig = truecaller(),
    _ params: (inout VerifyPhone.Params) -> Void = { _ in },
    origin change: (inout FlowContext<TruecallerSettings>) -> Void = { _ in }
  ) throws {
    var asked = VerifyPhone.Params(phoneNumber: number, countryCode: country)
    params(&asked)
    var moment = UsherFlowsTests.moment()
    var origin = FlowContext<TruecallerSettings>(
      provider: Provider(provider)!, requestID: "req-1", installationID: installation,
      credential: CredentialCheck(appKey))
    change(&origin)
    (flow, last) = try VerifyPhone.begin(asked, origin, at: &moment)
  }

  @discardableResult
  mutating func receive(
    _ event: FlowEvent<TruecallerCall>, at time: Timestamp = now
  ) -> Answer<TruecallerCall> {
    var moment = UsherFlowsTests.moment(time)
    last = flow.receive(event, at: &moment)
    if let kept { stored.append(kept) }
    if keeps, kept != nil {
      last = flow.receive(.answered(.stored(AccountID("acc_1"))), at: &moment)
    }
    return last
  }

  /// Delivers `outcome` as the outcome of the call in the last answer.
  @discardableResult
  mutating func answered(
    _ outcome: CallOutcome, at time: Timestamp = now
  ) -> Answer<TruecallerCall> {
    guard let call = calls.first else { return .ignore }
    return receive(.called(call, outcome), at: time)
  }

  @discardableResult
  mutating func answered(
    _ json: JSONValue, status: Int = 200, at time: Timestamp = now
  ) -> Answer<TruecallerCall> {
    answered(.reply(reply(json, status: status)), at: time)
  }

  static let sent: JSONValue = [
    "method": "sms", "verificationToken": "verification-secret", "tokenTtl": 90, "status": 0,
  ]
  static let profile: JSONValue = [
    "firstName": "Asha", "lastName": "Rao", "phoneNumber": "919876543210", "countryCode": "IN",
    "gender": "F", "city": "Pune", "isTrueName": true, "requestTime": 1_800_000_000.25,
  ]

  static func code(
    _ code: String = "123456", first: String? = "Asha", last: String? = "Rao"
  ) -> FlowEvent<TruecallerCall> {
    var fields: [String: Secret] = [:]
    fields["firstName"] = first.map { Secret($0) }
    fields["lastName"] = last.map { Secret($0) }
    return .input(.code(Secret(code), fields: fields))
  }

  mutating func toCode() { answered(Self.sent) }

  mutating func toVerify() {
    toCode()
    receive(Self.code())
  }

  /// Advances to the call after a correct code. The account is stored on the way, unless the
  /// settings require that the token is validated first.
  mutating func toToken() {
    toVerify()
    answered(["accessToken": "otp-access-secret"])
  }

  /// Advances to the call that reads the profile.
  mutating func toProfile() {
    toToken()
    answered([:])
  }

  /// Stores the flow, reads it back and resumes it, as after `kill -9`.
  mutating func restart(at time: Timestamp = now) throws {
    flow = try storedAndRead(flow)
    receive(.resumed, at: time)
  }

  var state: String { flow.view.state }
  var problem: Problem? { flow.view.problem }

  var step: Step.EnterCode? {
    if case .enterCode(let step) = flow.view.step { step } else { nil }
  }

  /// The account that the last answer asks the daemon to store before the flow ends.
  var kept: AccountGrant? {
    guard case .proceed(let effects) = last else { return nil }
    return effects.compactMap { if case .store(let grant) = $0 { grant } else { nil } }.first
  }
}
