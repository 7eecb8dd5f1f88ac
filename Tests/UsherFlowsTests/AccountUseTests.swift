import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// Rules and consents rely on what a flow type declares in `needsAccount` and `accountUse`.
@Suite("Declared account use of flow types")
struct AccountUseTests {
  /// The account's id at the provider. It fits the example of `verifyPhone`.
  private static let subject = "+919876543210"

  /// Returns a provider whose settings let the examples of its flows begin.
  private func sample(of variety: ProviderVariety) throws -> ProviderConfig {
    switch variety {
    case .oidc, .freedomidOIDC:
      try provider {
        $0.clientCredential = "secret"
        $0.clientCredentialsGrant = true
        $0.jwtBearer.keyCredential = "key"
        $0.jwtBearer.subjects = ["reports@example.org"]
      }
    case .oauth2: try oauth2Provider { $0.clientCredentialsGrant = true }
    case .paysafe:
      try DrivenPaysafeAuthorize.provider {
        $0.operations = [try OperationPattern(setting: "*:/*")]
      }
    case .truecaller: truecaller()
    case .gopay: try gopay()
    case .freedomidDevice: DeviceDriven.provider()
    case .freedomidOAuth2: try Freedom.provider()
    case .bsa: BSAParts.provider()
    case .local: .local
    }
  }

  /// Whether one of the first calls of a flow's example carries the token of an account.
  private func usesToken<Machine: FlowMachine>(
    _ type: Machine.Type, _ sample: ProviderConfig
  ) throws -> Bool {
    let schema = StrictDecoding.schema(of: Machine.Params.self)
    guard case .object(let members) = schema else { return false }
    let known = Set(members.map(\.name))
    var params = Machine.example.params.objectValue ?? [:]
    if known.contains("account") { params["account"] = "acc_1" }
    if type.kind == VerifyIdentity.kind {
      params["userCorrelationId"] = .string(Self.subject)
      params["credentialReceiver"] = "none"
    }
    let decoded = try StrictDecoding.decode(
      Machine.Params.self, from: .object(params), schema: schema)
    let account = AccountID("acc_1")
    var origin = FlowContext<Machine.Call.Settings>(
      provider: try #require(Provider(sample)),
      account: known.contains("account")
        ? KnownAccount(id: account, subject: Self.subject) : nil,
      requestID: "req-1", statedRequestID: "req-1",
      credential: CredentialCheck(Secret("secret")),
      accounts: [NamedAccount(id: account, subject: Self.subject, label: "somebody")])
    origin.accountAttributes = [account: ["profilePending": true]]
    var moment = moment()
    guard let (machine, answer) = try? Machine.begin(decoded, origin, at: &moment) else {
      return false
    }
    return usesToken(machine, answer, steps: 3)
  }

  private func usesToken<Machine: FlowMachine>(
    _ machine: Machine, _ answer: Answer<Machine.Call>, steps: Int
  ) -> Bool {
    guard case .proceed(let effects) = answer else { return false }
    let calls = effects.compactMap { if case .call(let call) = $0 { call } else { nil } }
    if calls.contains(where: { $0.account != nil }) { return true }
    guard steps > 0 else { return false }
    var events: [FlowEvent<Machine.Call>] = [.resumed, .woken]
    for call in calls {
      events += [
        .called(call, .reply(reply([:]))), .called(call, .reply(reply([:], status: 401))),
        .called(call, .unreachable(message: "gone", sent: true)),
      ]
    }
    return events.contains { event in
      var next = machine
      var moment = moment()
      let answer = next.receive(event, at: &moment)
      return usesToken(next, answer, steps: steps - 1)
    }
  }

  @Test("every flow type whose calls carry an account's token declares that it uses an account")
  func declared() throws {
    var acting: Set<String> = []
    for variety in ProviderVariety.allCases {
      let sample = try sample(of: variety)
      for type in ProviderRegistry.flows(of: variety) {
        guard try usesToken(type, sample) else { continue }
        acting.insert(type.kind)
        #expect(type.needsAccount || type.accountUse != .none, "\(type)")
      }
    }
    #expect(acting.isSuperset(of: ["sca", "operation", "verify", "verifyPhone"]))
  }

  @Test("verifyPhone takes only an account of its own phone number whose profile is still pending")
  func takes() {
    let params: JSONValue = ["phoneNumber": "9876543210", "countryCode": "in"]
    let pending: [String: JSONValue] = ["profilePending": true]
    #expect(VerifyPhone.acceptsAccount("+919876543210", pending, for: params))
    #expect(!VerifyPhone.acceptsAccount("+919876543210", [:], for: params))
    #expect(!VerifyPhone.acceptsAccount("+919876543211", pending, for: params))
    #expect(!VerifyPhone.acceptsAccount("+919876543210", pending, for: ["phoneNumber": 1]))
    #expect(!OIDCAuthorize.acceptsAccount("+919876543210", pending, for: params))
  }
}
