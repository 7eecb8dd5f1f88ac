import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// The SDK's own flow of Freedom ID on its way.
struct DeviceDriven {
  typealias Call = FreedomDeviceCall
  typealias Event = FlowEvent<FreedomDeviceCall>

  static let name = ProviderName("freedom")
  static let key = Secret("api-key-secret")
  static let phone = Secret("+77011234567")
  static let email = Secret("aigerim@example.kz")
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
    change(&settings)
    return ProviderConfig(name: name, settings: settings)
  }

  var flow: FreedomDeviceAuthorize
  private(set) var last: Answer<Call>
  /// What is under way.
  private(set) var pending: Call?

  init(
    grants: [String] = ["read.firstname", "read.phone"], accounts: [NamedAccount] = [],
    account: NamedAccount? = nil, apiKey: String? = nil,
    provider: ProviderConfig = DeviceDriven.provider()
  ) throws {
    var params = FreedomDeviceAuthorize.Params(grants: grants)
    params.apiKey = apiKey.map { WireSecret($0) }
    params.account = account?.id
    let origin = FlowContext<FreedomIDSettings>(
      provider: Provider(provider)!,
      account: account.map { KnownAccount(id: $0.id, subject: $0.subject) }, requestID: "req-1",
      installationID: installation, credential: CredentialCheck(Self.key), accounts: accounts,
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
    return last
  }

  @discardableResult
  mutating func say(_ input: FlowInput, at time: Timestamp = now) -> Answer<Call> {
    receive(.input(input), at: time)
  }

  /// The call that is under way brings this.
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

  /// As after `kill -9`.
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

  var completion: Completion? {
    if case .finish(let completion) = last { completion } else { nil }
  }

  var kept: AccountGrant? {
    guard case .proceed(let effects) = last, effects.count == 1,
      case .keep(let grant) = effects[0]
    else { return nil }
    return grant
  }

  /// The field that was refused.
  var refusedField: String? {
    if case .refuse(let field, _) = last { field } else { nil }
  }
}

// MARK: - What the provider says

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

// MARK: - The way

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

  /// At the choice of a way to sign in: no account is tied.
  static func choosing(
    grants: [String] = ["read.firstname", "read.phone"], accounts: [NamedAccount] = [],
    account: NamedAccount? = nil
  ) throws -> DeviceDriven {
    var driven = try DeviceDriven(grants: grants, accounts: accounts, account: account)
    driven.answered(list([]))
    return driven
  }

  /// At the form of a way.
  static func form(_ way: Way) throws -> DeviceDriven {
    var driven = try choosing()
    driven.say(.choice(way.rawValue))
    return driven
  }

  /// After the form: the code is being sent, or the password is asked for.
  static func named(_ way: Way) throws -> DeviceDriven {
    var driven = try form(way)
    driven.say(way.form)
    return driven
  }

  /// At the code that was sent.
  static func coded(_ changes: [String: JSONValue?] = [:]) throws -> DeviceDriven {
    var driven = try named(.phoneOTP)
    driven.answered(challenge("ch-1", changes))
    return driven
  }

  /// The code is being checked.
  static func checking() throws -> DeviceDriven {
    var driven = try coded()
    driven.say(.code(code, fields: [:]))
    return driven
  }

  /// The password is being checked.
  static func knocking(_ way: Way = .emailPassword) throws -> DeviceDriven {
    var driven = try named(way)
    driven.say(.password(password))
    return driven
  }

  /// From the choice of a way to the log-in, which is to be kept.
  mutating func signIn(_ way: Way = .emailPassword, as account: NamedAccount = aigerim) {
    say(.choice(way.rawValue))
    say(way.form)
    say(.password(Self.password))
    answered(Self.login(account))
  }

  /// At the second factor.
  static func second() throws -> DeviceDriven {
    var driven = try knocking()
    driven.answered(twoFactor)
    return driven
  }

  /// At home, where two accounts are.
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

  /// At the local authentication, after the choice of an account.
  static func proving(
    grants: [String] = ["read.firstname", "read.phone"]
  ) throws -> DeviceDriven {
    var driven = try home(grants: grants)
    driven.say(.choice("acc_1"))
    return driven
  }

  /// The person proves to be there, by a passcode.
  mutating func prove(at time: Timestamp = now) {
    tell(.standing(.init(biometric: .noReader, passcode: .ready)))
    say(.passcode(Secret("1234-passcode")))
    tell(.checked(.accepted), at: time)
  }

  @discardableResult
  mutating func tell(_ news: LocalAuthNews, at time: Timestamp = now) -> Answer<Call> {
    receive(.told(.localAuth(news)), at: time)
  }

  /// What is remembered is being looked up.
  static func recalling(
    grants: [String] = ["read.firstname", "read.phone"]
  ) throws -> DeviceDriven {
    var driven = try proving(grants: grants)
    driven.prove()
    return driven
  }

  /// At the permissions.
  static func permissions(
    grants: [String] = ["read.firstname", "read.phone"], remembered: Set<String> = []
  ) throws -> DeviceDriven {
    var driven = try recalling(grants: grants)
    driven.receive(.told(.consents(remembered)))
    return driven
  }

  /// The consent is handed in.
  static func completing(
    grants: [String] = ["read.firstname", "read.phone"], remembered: Set<String> = [],
    granted: [String] = ["read.firstname", "read.phone"]
  ) throws -> DeviceDriven {
    var driven = try permissions(grants: grants, remembered: remembered)
    driven.say(.granted(granted))
    return driven
  }
}
