import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// The object that an RPC call is about, found once for both the access policy and the handler.
struct CallTarget {
  var request: PolicyRequest
  /// The account that the call is about, if it exists for the caller.
  var account: AccountRecord?
  /// The target of the configuration that answers the call; nil if none does, or if the call names
  /// nothing for targets.
  var answering: TargetConfig?
  /// The error if the account that the call acts on cannot be determined; nil if it can.
  var accountError: UsherError?
  /// The value of ``AccountRepository/generation`` before the accounts were read.
  let generation: Int
}

extension Services {
  /// Decides about a call by the access policy, then checks the required local authentication and
  /// confirmation.
  ///
  /// The rules are those that currently apply to the caller; proofs of presence and confirmations
  /// are looked up for each call. A denial is recorded in the audit log now, the outcome of an
  /// allowed call when it has ended.
  func authorize<M: Method>(
    _ call: M, about target: CallTarget, _ caller: Caller
  ) throws(UsherError) -> AuthorizedCall {
    let request = target.request
    let permit = try audit.permit(request, caller, target.accountError)
    let isAudited = M.traits.audit != .denials
    if isAudited { try audit.admit() }
    try checkCondition(.localAuth, of: permit, request, caller) { () throws(UsherError) in
      guard let seconds = permit.localAuthSeconds, !request.isUnknown else { return }
      try localAuth.check(within: seconds, of: caller)
    }
    let authorized = AuthorizedCall(
      request: request, caller: caller, permit: permit, audit: audit, target: target.account,
      answering: target.answering,
      disclosure: isAudited ? disclosure(call, target, caller) : nil,
      generation: target.generation)
    // A person is not asked to confirm a call that cannot be carried out.
    if let accountError = target.accountError { throw authorized.failed(accountError) }
    // The confirmation is checked last, because the check consumes a confirmation for a single
    // call.
    try checkCondition(.confirm, of: permit, request, caller) { () throws(UsherError) in
      try confirm.check(permit, request, M.subject.flowStart(of: call), of: caller)
    }
    return authorized
  }

  private func checkCondition(
    _ condition: AuditConditions, of permit: Permit, _ request: PolicyRequest, _ caller: Caller,
    _ check: () throws(UsherError) -> Void
  ) throws(UsherError) {
    do throws(UsherError) {
      try check()
    } catch {
      throw audit.denied(
        error, request, caller, rule: permit.rule, conditions: permit.conditions, unmet: condition)
    }
  }

  /// Finds the provider, kind and account that the call is about.
  ///
  /// If the caller cannot see the object, the request has no provider or kind; the handler does not
  /// get the object either.
  func resolve<M: Method>(_ call: M, _ caller: Caller) throws(UsherError) -> CallTarget {
    var target = CallTarget(request: PolicyRequest(M.self), generation: repository.generation)
    switch M.subject {
    case .method, .owner: break
    case .provider(let provider): target.request.provider = provider(call)?.rawValue
    case .start(let about): resolve(about(call), caller, in: &target)
    case .account(let about):
      let (id, provider) = about(call)
      let record = try repository.namedAccount(id, provider, by: caller, M.name)
      target.account = record
      target.request.provider = (record?.provider ?? provider)?.rawValue
      target.request.account = record.map { .init($0) }
      target.request.named = id?.rawValue
      target.request.isUnknown = id != nil && record == nil
    case .oneAccount(let about):
      resolve(about(call), in: &target) { id, provider throws(UsherError) in
        try repository.account(id, provider, for: caller, M.name)
      }
    case .oneAccountWithCodes(let about):
      resolve(about(call), in: &target) { id, provider throws(UsherError) in
        try totp.account(id, provider, for: caller, M.name)
      }
    case .token(let about, let scope, let audience, let kind):
      resolve(about(call), in: &target) { id, provider throws(UsherError) in
        try repository.account(id, provider, for: caller, M.name)
      }
      target.request.kind = kind(call)
      if kind(call) == nil { target.request.audiences = [audience(call) ?? ""] }
      target.requestScopes(scope(call))
    case .target(let asked): resolve(asked(call), in: &target)
    case .tokenForTarget(let asked):
      resolve(asked(call), in: &target)
      resolveToken(caller, in: &target)
    case .flow(let id):
      let owned = try? flows.engine.flow(id(call), of: caller.owner)
      target.request.provider = owned?.provider.rawValue
      target.request.kind = owned?.kind
      target.request.isUnknown = owned == nil
    }
    target.request.weekMinute = caller.policy.choosesHours ? dependencies.weekMinute() : nil
    return target
  }

  private func resolve(_ start: FlowStart, _ caller: Caller, in target: inout CallTarget) {
    target.request = PolicyRequest(start)
    target.request.subject = flows.subject(of: start)
    target.request.named = start.params["account"]?.stringValue
    // Assumed until the account's use is known, so that a failure below does not weaken the check.
    target.request.usesAccount = true
    do throws(UsherError) {
      target.request.usesAccount = try flows.usesAccount(start, for: caller)
      target.account = try flows.account(of: start, for: caller)
      target.request.account = target.account.map { .init($0) }
      // The flow acts with the ID token of an account at another provider.
      if let identity = try flows.identity(of: start, for: caller) {
        target.request.subject = identity.subject
        target.request.usesAccount = true
      }
    } catch {
      target.accountError = error
      target.request.usesAccount =
        target.request.usesAccount || flows.identityProvider(of: start) != nil
      target.request.lacksAccount = target.request.usesAccount
    }
  }

  /// Finds the one account that an RPC call acts on: the account that it names by id, or else the
  /// one that `find` chooses at the provider. If there is no such account, `target` gets the error.
  func resolve(
    _ named: (id: AccountID?, provider: ProviderName?), in target: inout CallTarget,
    by find: (AccountID?, ProviderName?) throws(UsherError) -> AccountRecord
  ) {
    target.request.provider = named.provider?.rawValue
    target.request.named = named.id?.rawValue
    do throws(UsherError) {
      let record = try find(named.id, named.provider)
      target.account = record
      target.request.provider = record.provider.rawValue
      target.request.account = .init(record)
    } catch {
      target.accountError = error
      target.request.isUnknown = named.id != nil && error.reason == .notFound
      target.request.lacksAccount = !target.request.isUnknown
    }
  }

  private func disclosure<M: Method>(
    _ call: M, _ target: CallTarget, _ caller: Caller
  ) -> AuthorizedCall.Disclosure? {
    let record = target.account
    switch M.subject {
    case .token(_, let scope, let audience, _):
      return .token(
        scope: scope(call) ?? record?.details.grant.scope, audience: audience(call))
    case .tokenForTarget:
      let token = target.answering
      return .token(
        scope: token?.tokenScope ?? record?.details.grant.scope, audience: token?.audience)
    case .account where M.traits.showsProfiles:
      return record.map { record in
        .profiles { [accounts] in accounts.shown(of: record, to: caller) }
      }
    case .provider(let provider) where M.traits.showsProfiles:
      return .profiles { [accounts, provider = provider(call)] in
        accounts.shown(at: provider, to: caller)
      }
    case .owner(let uid): return .storedObjects(of: uid(call))
    case .method, .provider, .start, .flow, .account, .oneAccount, .oneAccountWithCodes, .target:
      return nil
    }
  }
}

extension CallTarget {
  /// Sets the scopes of the requested token. Without a requested scope, it has all that were
  /// granted to the account; without an account the scopes are unknown.
  mutating func requestScopes(_ scope: String?) {
    request.scopes = account.map { PolicyRequest.scopes(scope ?? $0.details.grant.scope) }
  }
}

extension Subject {
  /// Returns the flow that a call starts; nil if it starts none.
  fileprivate func flowStart(of call: M) -> FlowStart? {
    if case .start(let start) = self { start(call) } else { nil }
  }
}

extension AccountRepository {
  /// Returns the account that a call names by id, or else the only account at the named provider.
  fileprivate func namedAccount(
    _ id: AccountID?, _ provider: ProviderName?, by caller: Caller, _ method: String
  ) throws(UsherError) -> AccountRecord? {
    if let id { return try visible(id, by: caller, PolicyRequest(method: method)) }
    guard let provider else { return nil }
    let records = try accounts(for: caller, method, at: provider, limit: 1)
    return records.count == 1 ? records[0] : nil
  }
}

extension PolicyRequest.Account {
  init(_ record: AccountRecord) {
    self.init(id: record.id.rawValue, subject: record.subject)
  }
}

extension Denial {
  /// Returns the error for the caller whose call was denied.
  ///
  /// - Parameter accountError: The error if the account that the call acts on cannot be determined.
  func error(_ request: PolicyRequest, _ accountError: UsherError? = nil) -> UsherError {
    switch cause {
    case .account where request.account != nil:
      return AccountRepository.notFound(AccountID(request.account?.id ?? ""))
    case .notListed, .account:
      if let accountError, cause == .account, request.lacksAccount { return accountError }
      if request.traits.namesTarget { return .targetNotAllowed(request) }
      let what = [request.provider, request.kind].compactMap { $0 }.joined(separator: "/")
      let call = what.isEmpty ? request.method : "\(request.method) on \(what)"
      return UsherError(.permissionDenied, "you may not call \(call)")
    case .scope(let scopes): return .scopeNotPermitted(scopes)
    case .audience(let audiences):
      return UsherError(
        .permissionDenied,
        "your rule allows tokens for these audiences only: \(audiences.audienceList)",
        field: "audience")
    case .hours(let minutes):
      let wait = Duration.seconds(minutes * 60)
      return UsherError(
        .permissionDenied,
        "rule \(rule) allows \(request.method) only in its hours: try again in \(wait.inWords)",
        detail: .init(retryAfterMs: Int(wait.milliseconds)))
    }
  }
}
