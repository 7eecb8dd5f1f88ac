import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

// Selection of the account that a flow acts on.
extension FlowService {
  /// Returns the account that a flow acts on: the one that the call names or, if the flow needs an
  /// account, the only one that the caller's policy rules permit. Nil for a flow without an
  /// account.
  ///
  /// The policy is then evaluated for this account, and the engine gets the id in the call.
  ///
  /// - Throws: `notFound` if the caller does not see the account; `interactionRequired` if the user
  ///   has to sign in first; `invalidParams` if there are several accounts or the value names none.
  func account(of call: FlowStart, for caller: Caller) throws(UsherError) -> AccountRecord? {
    let repository = engine.accounts
    let request = PolicyRequest(call)
    guard let named = call.namedAccount else {
      guard type(of: call)?.needsAccount ?? false else { return nil }
      guard call.params.objectValue != nil else { throw .wrongType("params", "an object") }
      let records = try repository.accounts(
        of: caller.owner, at: call.provider, limit: AccountRepository.maxChoices
      ) { caller.maySee($0, request) }
      return try repository.onlyAccount(among: records, at: call.provider, field: "params.account")
    }
    guard let text = named.stringValue else { throw .wrongType("params.account", "a string") }
    let id = AccountID(text)
    guard let record = try repository.find(id, of: caller.owners), caller.maySee(record, request)
    else { throw AccountRepository.notFound(id) }
    try call.checkProvider(of: record)
    return record
  }

  /// Returns the account at another provider by whose assertion the flow gets tokens; nil for other
  /// kinds of flows.
  ///
  /// The assertion gives the caller what the ID token would, so the caller must have the right to
  /// that ID token, at once and without a confirmation or a proof of presence.
  ///
  /// - Throws: `notFound` if the account is not the caller's own, `permissionDenied` without that
  ///   right; else as ``account(of:for:)``.
  func identity(of call: FlowStart, for caller: Caller) throws(UsherError) -> AccountRecord? {
    guard let provider = identityProvider(of: call) else { return nil }
    let request = PolicyRequest(call)
    let (repository, field) = (engine.accounts, "params.identity")
    let record: AccountRecord
    if let named = call.params["identity"].flatMap({ $0.isNull ? nil : $0 }) {
      guard let text = named.stringValue else { throw .wrongType(field, "a string") }
      guard let found = try repository.find(AccountID(text), of: [caller.owner]),
        caller.mayAct(for: found, request)
      else { throw AccountRepository.notFound(AccountID(text)) }
      record = found
    } else {
      let records = try repository.accounts(
        of: caller.owner, at: provider, limit: AccountRepository.maxChoices
      ) { caller.mayAct(for: $0, request) && caller.mayHaveIDToken(of: $0, engine.dependencies) }
      record = try repository.onlyAccount(among: records, at: provider, field: field)
    }
    guard record.provider == provider else {
      throw UsherError(
        .invalidParams, "account \(record.id) is not at provider \(provider)", field: field)
    }
    guard caller.mayHaveIDToken(of: record, engine.dependencies) else {
      throw UsherError(
        .permissionDenied,
        "the flow needs the right to token.get \(provider)/idToken for account \(record.id), without "
          + "a confirmation or a proof of presence", field: field)
    }
    return record
  }

  /// Returns the provider at which the account of ``identity(of:for:)`` is; nil if the flow needs
  /// none.
  func identityProvider(of call: FlowStart) -> ProviderName? {
    engine.dependencies.configStore.current.identityProvider(ofFlow: call.kind, at: call.provider)
  }

  /// Whether the flow acts with an account's token: because its kind needs one, because the call
  /// names an account, or because the machine selects one of the owner's accounts.
  func usesAccount(_ call: FlowStart, for caller: Caller) throws(UsherError) -> Bool {
    guard let type = type(of: call) else { return false }
    if type.usesAccount(isNamed: call.namedAccount != nil) { return true }
    guard type.accountUse == .named, type.knowsAccounts else { return false }
    let request = PolicyRequest(call)
    let accepted = try engine.accounts.accounts(of: caller.owner, at: call.provider, limit: 1) {
      caller.maySee($0, request)
        && type.acceptsAccount($0.subject, $0.details.attributes, for: call.params)
    }
    return !accepted.isEmpty
  }

  /// The accounts that must be in memory before the policy is evaluated for the call; nil if none.
  func lookup(of call: FlowStart) -> AccountRepository.Lookup? {
    if let id = call.namedAccount?.stringValue { return .account(AccountID(id)) }
    if let provider = identityProvider(of: call) {
      return call.params["identity"]?.stringValue.map { .account(AccountID($0)) }
        ?? .provider(provider)
    }
    guard let type = type(of: call), type.needsAccount || type.knowsAccounts else { return nil }
    return .provider(call.provider)
  }

  /// Returns the subject for whom a flow gets tokens without a sign-in; nil for any other flow.
  func subject(of call: FlowStart) -> String? {
    engine.dependencies.configStore.current.subject(
      ofFlow: call.kind, at: call.provider, named: call.params["subject"]?.stringValue)
  }

  private func type(of call: FlowStart) -> (any FlowMachine.Type)? {
    engine.dependencies.configStore.current.provider(call.provider)
      .flatMap { ProviderRegistry.flow(call.kind, of: $0.settings.variety) }
  }
}

extension ConfigSnapshot {
  /// Returns the subject for whom a flow gets tokens without a sign-in (RFC 7523 §2.1); nil for a
  /// flow of any other kind.
  ///
  /// - Parameter subject: The subject that the caller names; nil if it names none.
  func subject(
    ofFlow kind: String, at provider: ProviderName, named subject: String?
  ) -> String? {
    guard kind == OIDCJWTBearerGrant.kind,
      let settings = self.provider(provider)?.settings.view(as: OIDCSettings.self)
    else { return nil }
    return settings.jwtBearer.subject(named: subject, clientID: settings.clientID)
  }
}

extension ConfigSnapshot {
  /// Returns the provider by whose assertion a flow gets tokens; nil for a flow of any other kind.
  func identityProvider(ofFlow kind: String, at provider: ProviderName) -> ProviderName? {
    guard kind == OIDCIdentityAssertionGrant.kind else { return nil }
    return (self.provider(provider)?.settings as? OIDCSettings)?.identityAssertion.provider
  }
}

extension Caller {
  /// Returns whether the rules about a flow at one provider permit it for the person of an account
  /// at another provider; if not, the account is reported as not found.
  fileprivate func mayAct(for record: AccountRecord, _ request: PolicyRequest) -> Bool {
    guard policy.choosesAccounts, !isAdmin else { return true }
    var request = request
    request.account = PolicyRequest.Account(record)
    request.lacksAccount = false
    guard case .denied(let denial) = decide(request) else { return true }
    return denial.cause != .account
  }
}

extension FlowMachine {
  /// Whether a flow of this machine's kind acts with an account's token.
  ///
  /// - Parameter isNamed: Whether the call's parameters name an account.
  static func usesAccount(isNamed: Bool) -> Bool {
    needsAccount || (accountUse == .named && isNamed)
  }
}

extension FlowStart {
  /// The value of the call's `params.account`, of any JSON type; null counts as absent.
  var namedAccount: JSONValue? { params["account"].flatMap { $0.isNull ? nil : $0 } }

  /// Checks that the account that `params.account` names is at the provider of the call.
  func checkProvider(of record: AccountRecord) throws(UsherError) {
    guard record.provider != provider else { return }
    throw UsherError(
      .invalidParams, "account \(record.id) is not at provider \(provider)",
      field: "params.account")
  }
}

extension PolicyRequest {
  init(_ call: FlowStart) {
    self.init(
      method: FlowStart.name, provider: call.provider.rawValue, kind: call.kind,
      operation: call.operation)
    audiences = call.params["audiences"]?.arrayValue?.compactMap(\.stringValue)
    scopes = Self.scopes(ofFlow: call.kind, call.params["scope"]?.stringValue)
  }

  /// Returns the scopes by which rules decide about the start of a flow; nil for a sign-in, in
  /// which a person decides at the provider.
  ///
  /// - Parameter scope: The scope that the call names; nil if it names none.
  static func scopes(ofFlow kind: String, _ scope: String?) -> [String]? {
    let unattended = [
      OIDCClientCredentials.kind, OIDCJWTBearerGrant.kind, OIDCIdentityAssertionGrant.kind,
    ]
    return unattended.contains(kind) ? scopes(scope ?? "") : nil
  }
}
