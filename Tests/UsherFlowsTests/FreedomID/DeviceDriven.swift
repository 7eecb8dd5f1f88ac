import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// A Freedom ID device flow under test.
struct DeviceDriven {
  typealias Call = FreedomDeviceCall
  typealias Event = FlowEvent<FreedomDeviceCall>

  static let name = ProviderName("freedom")
  static let key = Secret("api-key-secret")
  static let phone = Secret("+77011234567")
  static let email = Secret("aigerim@example.kz")
  static let phoneName = FreedomName(method: .phonePassword, text: Sealed(phone))
  static let emailName = FreedomName(method: .emailPassword, text: Sealed(email))
  static let password = Secret("Pass-word-secret")
  static let code = Secret("739146")
  static let subject = "11111111-0000-4000-8000-000000000001"
  static let aigerim = NamedAccount(id: AccountID("acc_1"), subject: subject, label: "+7 ••• 67")
  static let bolat = NamedAccount(
    id: AccountID("acc_2"), subject: "22222222-0000-4000-8000-000000000002", label: "+7 ••• 99")

  static func provider(
    _ change: (inout FreedomIDSettings) -> Void = { _ in }
  ) -> ProviderConfig {
    var settings = FreedomIDSettings(mode: .device)
    settings.apiKeyCredential = "freedom-api-key"
    settings.consentDays = 365
    change(&settings)
    return ProviderConfig(name: name, settings: settings)
  }

  var flow: FreedomDeviceAuthorize
  private(set) var last: Answer<Call>
  /// The latest call, which the next outcome answers.
  private(set) var pending: Call?
  /// The answer to the question, before the log-in, by which means the user can authenticate; nil
  /// leaves the question open.
  private let means: LocalAuthAvailability?

  init(
    grants: [String] = ["read.firstname", "read.phone"], accounts: [NamedAccount] = [],
    account: NamedAccount? = nil, apiKey: String? = nil, credential: Secret? = key,
    means: LocalAuthAvailability? = .init(biometric: .noReader, passcode: .ready),
    provider: ProviderConfig = DeviceDriven.provider()
  ) throws {
    self.means = means
    var params = FreedomDeviceAuthorize.Params(grants: grants)
    params.apiKey = apiKey.map { WireSecret($0) }
    params.account = account?.id
    let origin = FlowContext<FreedomIDSettings>(
      provider: Provider(provider)!,
      account: account.map { KnownAccount(id: $0.id, subject: $0.subject) }, requestID: "req-1",
      installationID: installation, credential: CredentialCheck(credential), accounts: accounts,
      client: "Acme")
    var moment = UsherFlowsTests.moment()
    (flow, last) = try FreedomDeviceAuthorize.begin(params, origin, at: &moment)
    pending = calls.first
  }

  @discardableResult
  mutating func receive(_ event: Event, at time: Timestamp = now) -> Answer<Call> {
    var moment = UsherFlowsTests.moment(time)
    last = flow.receive(event, at: &moment)
    if let call = calls.first { pending = call }
    if let means, state == "accountCheck", asksMeans { answer(.availability(means), at: time) }
    return last
  }

  private var asksMeans: Bool {
    [LocalAuthQuestion.passcodeAvailability, .availability].contains {
      last == .proceed([.ask(.localAuth($0))])
    }
  }

  @discardableResult
  mutating func say(_ input: FlowInput, at time: Timestamp = now) -> Answer<Call> {
    receive(.input(input), at: time)
  }

  /// Answers the latest call with this outcome.
  @discardableResult
  mutating func answered(_ outcome: CallOutcome, at time: Timestamp = now) -> Answer<Call> {
    guard let pending else { return .ignore }
    return receive(.called(pending, outcome), at: time)
  }

  @discardableResult
  mutating func answered(
    _ json: JSONValue, status: Int = 200, headers: [String: String] = [:],
    at time: Timestamp = now
  ) -> Answer<Call> {
    answered(.reply(reply(json, status: status, headers: headers)), at: time)
  }

  @discardableResult
  mutating func refused(
    _ status: Int, _ code: Int?, _ message: String = "no", after: Int? = nil,
    _ members: [String: JSONValue] = [:]
  ) -> Answer<Call> {
    answered(
      .reply(Self.refusal(status, code, message, after: after, members)))
  }

  static func refusal(
    _ status: Int, _ code: Int?, _ message: String = "no", after: Int? = nil,
    _ members: [String: JSONValue] = [:]
  ) -> HTTPReply {
    var error = members
    error["message"] = .string(message)
    error["code"] = code.map { .integer(Int64($0)) }
    let headers = after.map { ["retry-after": String($0)] } ?? [:]
    return reply(["error": .object(error)], status: status, headers: headers)
  }

  static let gone = CallOutcome.unreachable(message: "gone", sent: false)
  static let lost = CallOutcome.unreachable(message: "gone", sent: true)

  /// Stores and restores the flow, as after `kill -9`.
  mutating func restart(at time: Timestamp = now) throws {
    flow = try storedAndRead(flow)
    receive(.resumed, at: time)
  }

  var state: String { flow.view.state }
  var step: Step { flow.view.step }
  var problem: Problem? { flow.view.problem }

  var calls: [Call] {
    guard case .proceed(let effects) = last else { return [] }
    return effects.compactMap { if case .call(let call) = $0 { call } else { nil } }
  }

  var failure: Failure? {
    if case .fail(let failure, _) = last { failure } else { nil }
  }

  var cleared: [Call] {
    if case .fail(_, let calls) = last { calls } else { [] }
  }

  var completion: Completion? { FreedomDeviceAuthorize.completion(in: last) }

  var kept: AccountGrant? {
    guard case .proceed(let effects) = last, effects.count == 1,
      case .store(let grant) = effects[0]
    else { return nil }
    return grant
  }

  /// The field that the flow refused.
  var refusedField: String? {
    if case .refuse(let field, _) = last { field } else { nil }
  }
}

// MARK: - Replies of the provider

extension DeviceDriven {
  static func challenge(
    _ id: String = "ch-1", _ changes: [String: JSONValue?] = [:]
  ) -> JSONValue {
    var members: [String: JSONValue] = [
      "challenge_id": .string(id), "channel": "sms", "masked_target": "+7 ••• 67", "digits": 6,
      "expire_at": "2027-01-15T08:05:00Z", "resend_at": "2027-01-15T08:01:00Z",
      "attempts_left": 3,
    ]
    for (name, value) in changes { members[name] = value }
    return .object(members)
  }

  static func login(
    _ account: NamedAccount = aigerim, _ changes: [String: JSONValue?] = [:]
  ) -> JSONValue {
    var members: [String: JSONValue] = [
      "account": ["id": .string(account.subject), "label": .string(account.label)],
      "id": "tok-1", "access_token": "access-secret", "refresh_token": "refresh-secret",
      "access_expire_at": "2027-01-15T09:00:00Z", "refresh_expire_at": "2027-02-15T08:00:00Z",
    ]
    for (name, value) in changes { members[name] = value }
    return .object(members)
  }

  static let twoFactor: JSONValue = [
    "two_factor": challenge("ch-2", ["channel": "totp", "masked_target": ""])
  ]

  static func list(_ accounts: [NamedAccount]) -> JSONValue {
    let entries = accounts.map {
      JSONValue.object(["id": .string($0.subject), "label": .string($0.label)])
    }
    return ["accounts": .array(entries)]
  }

  static func profile(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
    var members: [String: JSONValue] = [
      "id": .string(subject), "granted": ["read.firstname", "read.phone"],
      "profile": ["firstname": "Aigerim", "phone": "+77011234567"],
    ]
    for (name, value) in changes { members[name] = value }
    return .object(members)
  }
}

// MARK: - States of the flow

extension DeviceDriven {
  enum Way: String, CaseIterable, Sendable {
    case phoneOTP, emailPassword, phonePassword

    var form: FlowInput {
      switch self {
      case .phoneOTP, .phonePassword: .form(["phone": DeviceDriven.phone])
      case .emailPassword: .form(["email": DeviceDriven.email])
      }
    }
  }

  /// A flow at the choice of a sign-in method; no account is linked.
  static func choosing(
    grants: [String] = ["read.firstname", "read.phone"], accounts: [NamedAccount] = [],
    account: NamedAccount? = nil
  ) throws -> DeviceDriven {
    var driven = try DeviceDriven(grants: grants, accounts: accounts, account: account)
    driven.answered(list([]))
    return driven
  }

  /// A flow at the form of a sign-in method.
  static func form(_ way: Way) throws -> DeviceDriven {
    var driven = try choosing()
    driven.say(.choice(way.rawValue))
    return driven
  }

  /// A flow after the form: it requests the code or asks for the password.
  static func named(_ way: Way) throws -> DeviceDriven {
    var driven = try form(way)
    driven.say(way.form)
    return driven
  }

  /// A flow that waits for the code that was sent.
  static func coded(_ changes: [String: JSONValue?] = [:]) throws -> DeviceDriven {
    var driven = try named(.phoneOTP)
    driven.answered(challenge("ch-1", changes))
    return driven
  }

  /// A flow that checks the code.
  static func checking() throws -> DeviceDriven {
    var driven = try coded()
    driven.say(.code(code, fields: [:]))
    return driven
  }

  /// A flow that checks the password.
  static func knocking(_ way: Way = .emailPassword) throws -> DeviceDriven {
    var driven = try named(way)
    driven.say(.password(password))
    return driven
  }

  /// Signs in, from the choice of a method until the account is to be stored.
  mutating func signIn(_ way: Way = .emailPassword, as account: NamedAccount = aigerim) {
    say(.choice(way.rawValue))
    say(way.form)
    say(.password(Self.password))
    answered(Self.login(account))
  }

  /// A flow that waits for the code of the second factor.
  static func second() throws -> DeviceDriven {
    var driven = try knocking()
    driven.answered(twoFactor)
    return driven
  }

  /// A flow at the choice of an account (state `home`), by default of two accounts.
  static func home(
    grants: [String] = ["read.firstname", "read.phone"],
    _ accounts: [NamedAccount] = [
      aigerim, bolat,
    ], account: NamedAccount? = nil
  ) throws -> DeviceDriven {
    var driven = try DeviceDriven(grants: grants, accounts: accounts, account: account)
    driven.answered(list(accounts))
    return driven
  }

  /// A flow at the local authentication, after the choice of an account.
  static func proving(
    grants: [String] = ["read.firstname", "read.phone"]
  ) throws -> DeviceDriven {
    var driven = try home(grants: grants)
    driven.say(.choice("acc_1"))
    return driven
  }

  /// Completes the local authentication with a passcode.
  mutating func prove(at time: Timestamp = now) {
    answer(.availability(.init(biometric: .noReader, passcode: .ready)))
    say(.passcode(Secret("1234-passcode")))
    answer(.checked(.accepted), at: time)
  }

  @discardableResult
  mutating func answer(_ answer: LocalAuthAnswer, at time: Timestamp = now) -> Answer<Call> {
    receive(.answered(.localAuth(answer)), at: time)
  }

  /// A flow that looks up the remembered consents.
  static func recalling(
    grants: [String] = ["read.firstname", "read.phone"]
  ) throws -> DeviceDriven {
    var driven = try proving(grants: grants)
    driven.prove()
    return driven
  }

  /// A flow at the consent step.
  static func permissions(
    grants: [String] = ["read.firstname", "read.phone"], remembered: Set<String> = []
  ) throws -> DeviceDriven {
    var driven = try recalling(grants: grants)
    driven.receive(.answered(.consents(remembered)))
    return driven
  }

  /// A flow that hands in the consent.
  static func completing(
    grants: [String] = ["read.firstname", "read.phone"], remembered: Set<String> = [],
    granted: [String] = ["read.firstname", "read.phone"]
  ) throws -> DeviceDriven {
    var driven = try permissions(grants: grants, remembered: remembered)
    driven.say(.granted(granted))
    return driven
  }
}
