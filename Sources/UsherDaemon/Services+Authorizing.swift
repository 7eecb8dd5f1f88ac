import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

// Policy decision about a call.
extension Services {
  /// Decides about a call by the policy, then checks the required local authentication and
  /// confirmation.
  ///
  /// The rules are the caller's present ones; proofs and confirmations are looked up for each call.
  /// A denial is recorded in the audit log now, the outcome of an allowed call when it has ended.
  ///
  /// - Parameter call: On return, it names the account that it acts on, if there is one.
  func authorise<M: Method>(
    _ call: inout M, _ subject: Subject<M>, _ caller: Caller
  ) throws(UsherError) -> AuthorizedCall {
    let accounts = repository.generation
    let (request, obstacle) = try request(&call, subject, caller)
    let permit = try audit.permit(request, caller, obstacle)
    let isAudited = M.traits.audit != .denials
    if isAudited { try audit.admit() }
    try meet(.localAuth, of: permit, request, caller) { () throws(UsherError) in
      guard let seconds = permit.localAuthSeconds, !request.isUnknown else { return }
      try localAuth.check(within: seconds, of: caller)
    }
    let authorized = AuthorizedCall(
      request: request, caller: caller, permit: permit, audit: audit,
      given: isAudited ? given(call, request, caller) : nil, accounts: accounts)
    // Do not ask a person to confirm a call that cannot be carried out.
    if let obstacle { throw authorized.failed(obstacle) }
    // Check last: a confirmation for a single call is used up by the check.
    try meet(.confirm, of: permit, request, caller) { () throws(UsherError) in
      try confirm.check(permit, request, call as? FlowStart, of: caller)
    }
    return authorized
  }

  private func meet(
    _ condition: AuditConditions, of permit: Permit, _ request: PolicyRequest, _ caller: Caller,
    _ check: () throws(UsherError) -> Void
  ) throws(UsherError) {
    do throws(UsherError) {
      try check()
    } catch {
      throw audit.denied(
        error, request, caller, rule: permit.rule, conditions: permit.conditions,
        unmet: condition)
    }
  }

  /// Returns the request for the policy: the provider, kind and account that the call is about.
  ///
  /// If the caller cannot see the object, the request has no provider or kind; the handler will not
  /// find the object either. The account that a call acts on is resolved only here, and written
  /// into the call.
  ///
  /// - Returns: Also the error if the account that the call acts on cannot be determined.
  private func request<M: Method>(
    _ call: inout M, _ subject: Subject<M>, _ caller: Caller
  ) throws(UsherError) -> (PolicyRequest, obstacle: UsherError?) {
    var request = PolicyRequest(M.self)
    var obstacle: UsherError?
    switch subject {
    case .method: break
    case .provider(let provider): request.provider = provider(call)?.rawValue
    case .start(let about, let name):
      let start = about(call)
      request = PolicyRequest(start)
      request.named = start.params["account"]?.stringValue
      // Assume so until it is known.
      request.usesAccount = true
      do throws(UsherError) {
        request.usesAccount = try flows.usesAccount(start, for: caller)
        if let record = try flows.account(of: start, for: caller) {
          request.account = .init(record)
          name(&call, record.id)
        }
      } catch {
        obstacle = error
        request.lacksAccount = request.usesAccount
      }
    case .account(let about):
      let (id, name) = about(call)
      let record = try repository.meant(id, name, by: caller, M.name)
      request.provider = (record?.provider ?? name)?.rawValue
      request.account = record.map { .init($0) }
      request.named = id?.rawValue
      request.isUnknown = id != nil && record == nil
    case .oneAccount(let one): obstacle = resolve(one, in: &call, &request, caller)
    case .flow(let id):
      let owned = try? flows.engine.flow(id(call), of: caller.owner)
      request.provider = owned?.provider.rawValue
      request.kind = owned?.kind
      request.isUnknown = owned == nil
    }
    request.moment = caller.policy.choosesHours ? dependencies.weekMinute() : nil
    return (request, obstacle)
  }

  private func resolve<M: Method>(
    _ one: OneAccount<M>, in call: inout M, _ request: inout PolicyRequest, _ caller: Caller
  ) -> UsherError? {
    let (id, provider) = one.named(call)
    request.provider = provider?.rawValue
    request.named = id?.rawValue
    do throws(UsherError) {
      let record = try one.find(call, self, caller)
      request.provider = record.provider.rawValue
      request.account = .init(record)
      request.scopes = scopes(call, record)
      one.name(&call, record.id)
      return nil
    } catch {
      request.isUnknown = id != nil && error.reason == .notFound
      request.lacksAccount = !request.isUnknown
      return error
    }
  }

  /// Returns the scopes that a token is requested for; without a request, all that were granted.
  private func scopes(_ call: some Method, _ record: AccountRecord?) -> [String]? {
    guard let call = call as? TokenGet, let record else { return nil }
    return PolicyRequest.scopes(call.scope ?? record.details.grant.scope)
  }

  private func given(
    _ call: some Method, _ request: PolicyRequest, _ caller: Caller
  ) -> AuthorizedCall.Given? {
    switch call {
    case let call as TokenGet:
      let record = request.account.flatMap { repository.record(AccountID($0.id)) }
      return .token(scope: call.scope ?? record?.details.grant.scope)
    case let call as AccountGet:
      return .profiles { [accounts] in accounts.shown(of: call.account, to: caller) }
    case let call as AccountList:
      return .profiles { [accounts] in accounts.shown(at: call.provider, to: caller) }
    case let call as OwnerAccept: return .storedObjects(of: call.uid)
    case let call as OwnerForget: return .storedObjects(of: call.uid)
    default: return nil
    }
  }
}

extension AccountRepository {
  /// Returns the account that a call names, or else the only account of its provider.
  fileprivate func meant(
    _ id: AccountID?, _ provider: ProviderName?, by caller: Caller, _ method: String
  ) throws(UsherError) -> AccountRecord? {
    if let id { return try seen(id, by: caller, method) }
    guard let provider else { return nil }
    let records = try accounts(for: caller, method, at: provider, most: 1)
    return records.count == 1 ? records[0] : nil
  }
}

extension PolicyRequest.Account {
  init(_ record: AccountRecord) {
    self.init(id: record.id.rawValue, subject: record.subject)
  }
}

extension Denial {
  /// Returns the error for the caller.
  ///
  /// - Parameter obstacle: The error if the account that the call acts on cannot be determined.
  func error(_ request: PolicyRequest, _ obstacle: UsherError? = nil) -> UsherError {
    switch cause {
    case .account where request.account != nil:
      return AccountRepository.notFound(AccountID(request.account?.id ?? ""))
    case .account where request.lacksAccount && obstacle != nil:
      return obstacle ?? AccountRepository.notFound(AccountID(""))
    case .notListed, .account:
      let what = [request.provider, request.kind].compactMap { $0 }.joined(separator: "/")
      let call = what.isEmpty ? request.method : "\(request.method) on \(what)"
      return UsherError(.permissionDenied, "you may not call \(call)")
    case .scope(let scopes): return .beyond(scopes)
    case .hours(let minutes):
      let wait = Duration.seconds(minutes * 60)
      return UsherError(
        .permissionDenied, "you may call \(request.method) again in \(wait.inWords)",
        detail: .init(retryAfterMs: Int(wait.milliseconds)))
    }
  }
}
