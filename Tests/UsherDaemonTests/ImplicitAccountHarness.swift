import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A daemon without its sockets. Calls go through the method table, as a client with rules.
final class ImplicitAccountHarness: Sendable {
  static let wallet = ProviderName("wallet")
  static let bsa = ProviderName("bsa")
  static let freedom = ProviderName("freedom")
  static let gopay = ProviderName("gopay")
  static let phones = ProviderName("phones")

  /// The outcome of a call.
  enum Outcome: Equatable {
    /// A flow started and uses this account.
    case flow(with: AccountID?)
    case reply
    case refused(UsherError.Reason, ConfirmationID? = nil)

    var isAsked: Bool {
      if case .refused(.interactionRequired, .some) = self { return true }
      return false
    }

    var isFlow: Bool {
      if case .flow = self { return true }
      return false
    }
  }

  let harness: LockControllerHarness
  let lockController: LockController
  let service: RPCService

  init() async throws {
    harness = try LockControllerHarness(holdsTimers: true) { config in
      // No server listens at port 9 of the loopback interface.
      let unreachable = try ProviderURL(setting: "http://127.0.0.1:9")
      var freedom = FreedomIDSettings(mode: .device)
      freedom.baseURL = unreachable
      let bsa = BSASettings(
        clientKeyCredential: "bsa-client-key", appPackage: "com.example.app", appVersion: "1.0.0")
      var gopay = GoPaySettings(clientID: "acme", merchantID: "merchant")
      (gopay.snapBaseURL, gopay.identityBaseURL, gopay.captureBaseURL) = (
        unreachable, unreachable, unreachable
      )
      // The credential is not set, so that no flow calls the provider.
      var phones = TruecallerSettings(
        appKeyCredential: "app-key", appLink: "https://acme.example.com/truecaller")
      (phones.otpBaseURL, phones.profileBaseURLEU) = (unreachable, unreachable)
      phones.profileBaseURLNonEU = unreachable
      config.providers = [
        ProviderConfig(
          name: Self.wallet,
          settings: PaysafeSettings(baseURL: unreachable, clientID: "acme")),
        ProviderConfig(name: Self.bsa, settings: bsa),
        ProviderConfig(name: Self.freedom, settings: freedom),
        ProviderConfig(name: Self.gopay, settings: gopay),
        ProviderConfig(name: Self.phones, settings: phones),
      ]
      config.limits.flowStartsPerMinute = 100_000
      config.limits.openConfirmationsPerUser = 1000
    }
    lockController = try await harness.begun()
    service = RPCService(lockController)
  }

  // MARK: Rules and accounts

  static func rule(
    _ name: String, allow: String, accounts subjects: [String]? = nil,
    _ edit: (inout ClientRule) throws -> Void = { _ in }
  ) throws -> ClientRule {
    var rule = ClientRule(
      name: name, match: ClientMatch(unit: "till.service"),
      allow: [try AccessPattern(setting: allow)])
    rule.accounts = try subjects.map { subjects in
      try subjects.map { try AccountSelector(setting: "subject:\($0)") }
    }
    try edit(&rule)
    return rule
  }

  /// A program of anna that all of the rules match.
  static func caller(_ rules: [ClientRule]) throws -> Caller {
    Caller(
      PeerIdentity(
        identity: CallerIdentity(uid: 1000, gid: 1000, groups: [50], unit: "till.service"),
        isAdmin: false,
        realm: "host"),
      policy: try Policy.of(rules))
  }

  @discardableResult
  func persist(
    _ subject: String, at provider: ProviderName = wallet, totp secret: String? = nil,
    hasTokens: Bool = true, _ edit: (inout AccountGrant) -> Void = { _ in }
  ) async throws -> AccountID {
    var grant = AccountGrant(
      subject: subject, label: "label-\(subject)", tokens: hasTokens ? .sample() : nil)
    grant.totpSecret = secret.map { Sealed(Secret($0)) }
    edit(&grant)
    return try await lockController.services().repository.persist(
      grant, at: provider, client: "till"
    )
    .id
  }

  func forget(_ id: AccountID) async throws {
    let admin = try Caller.program(isAdmin: true)
    _ = try await respond(
      "account.forget", ["account": .string(id.rawValue), "revoke": false], as: admin
    ).reply()
  }

  // MARK: Calls

  func respond(_ method: String, _ params: JSONValue, as caller: Caller) throws -> Response {
    try service.respond(to: method, params, as: caller)
  }

  /// Makes a call and returns its outcome.
  func outcome(_ method: String, _ params: JSONValue, as caller: Caller) async throws -> Outcome {
    do {
      return try await outcome(of: try respond(method, params, as: caller))
    } catch let error as UsherError {
      return .refused(error.reason, error.detail.confirmation)
    }
  }

  func outcome(of response: Response) async throws -> Outcome {
    do {
      let reply = try JSONValue(parsing: try await response.reply())
      guard let id = reply["flow"]?["id"]?.stringValue else { return .reply }
      return .flow(with: try account(of: FlowID(id)))
    } catch let error as UsherError {
      return .refused(error.reason, error.detail.confirmation)
    }
  }

  func error(_ method: String, _ params: JSONValue, as caller: Caller) async -> UsherError? {
    await thrown { try await respond(method, params, as: caller).reply() }
  }

  /// Parameters of a flow that reaches a step without a call to the provider.
  static func sca(_ account: AccountID? = nil) -> JSONValue {
    var params: JSONValue = [
      "eventId": "evt-1", "walletOperationId": "op-1",
      "availableVerifications": [["method": "OTP", "channel": "SMS"], ["method": "PIN"]],
    ]
    if let account { params["account"] = .string(account.rawValue) }
    return ["provider": "wallet", "kind": "sca", "params": params]
  }

  /// Parameters of a flow that can run without an account.
  static func verify(_ account: AccountID? = nil) -> JSONValue {
    var params: JSONValue = ["credentialReceiver": "none", "userCorrelationId": "corr-1"]
    if let account { params["account"] = .string(account.rawValue) }
    return ["provider": "gopay", "kind": "verify", "requestId": "req-1", "params": params]
  }

  /// Parameters of a flow that selects an account itself.
  static func verifyPhone(_ number: String = "9876543210") -> JSONValue {
    [
      "provider": "phones", "kind": "verifyPhone",
      "params": ["phoneNumber": .string(number), "countryCode": "IN"],
    ]
  }

  // MARK: Accounts of flows

  func machine(of id: FlowID) throws -> String {
    let session = try lockController.services().flows.engine.flow(id, of: .anna)
    return session.snapshot.machine.map { "\($0)" } ?? ""
  }

  private func account(of id: FlowID) throws -> AccountID? {
    let text = try machine(of: id)
    let accounts = try lockController.services().repository.accounts(of: .anna).map(\.id)
    return accounts.first { text.contains($0.rawValue) }
  }
}
