import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// All methods of the daemon.
///
/// Before a handler runs, the call's parameters have been decoded strictly and the policy has
/// allowed the call. The handler only calls the services.
struct MethodTable: Sendable {
  private var entries: [String: MethodEntry] = [:]
  private let services: Services
  /// Functions that build the schemas of the methods' types. Schemas are built when first needed,
  /// because that takes longer than the rest of a start.
  private var readings: [@Sendable () -> Void] = []

  init(_ services: Services) {
    self.services = services
    let (flows, tokens, accounts) = (services.flows, services.tokens, services.accounts)
    let (providers, credentials) = (services.providerService, services.credentials)
    let (localAuth, totp) = (services.localAuth, services.totp)
    let registration = services.registration
    let (consents, clients) = (services.consents, services.clients)
    let audits = services.audits
    let confirm = services.confirm

    add(ProviderList.self) { _, call throws(UsherError) in try .now(providers.list(call.caller)) }
    add(ProviderGet.self, .provider(\.provider)) { get, _ throws(UsherError) in
      try .now(try providers.get(get.provider))
    }
    wait(ProviderCheck.self, .provider(\.provider)) { check, _ async throws(UsherError) in
      try await providers.check(check.provider)
    }

    let policies = services.processContext.policies
    wait(PolicyList.self) { _, _ async throws(UsherError) in policies.list() }
    wait(PolicyCheck.self) { check, _ async throws(UsherError) in try await policies.check(check) }

    wait(CredentialSet.self) { set, _ async throws(UsherError) in
      let done = try await credentials.set(set)
      await tokens.refresher.forgetRefusals()
      return done
    }
    add(CredentialList.self) { _, _ throws(UsherError) in try .now(try credentials.list()) }
    wait(CredentialDelete.self) { delete, _ async throws(UsherError) in
      try await credentials.delete(delete)
    }

    list(AccountList.self, .provider(\.provider)) { list, caller throws(UsherError) in
      try accounts.list(list.provider, caller)
    }
    add(AccountGet.self, .account { ($0.account, nil) }) { get, call throws(UsherError) in
      try .now(try accounts.get(get.account, call.caller))
    }
    wait(AccountForget.self, .one(by: tokens.account)) {
      forget, caller async throws(UsherError) in
      try await tokens.forget(forget, caller)
    }

    add(TokenGet.self, .one(by: tokens.account)) { get, call throws(UsherError) in
      try tokens.get(get, call.caller, within: call.permit.scopes)
    }
    list(TokenList.self, .account { ($0.account, $0.provider) }) {
      list, caller throws(UsherError) in
      try accounts.tokens(list, caller)
    }
    wait(TokenRevoke.self, .one(by: tokens.account)) {
      revoke, caller async throws(UsherError) in
      try await tokens.revoke(revoke, caller)
    }

    add(TOTPCode.self, .one(by: totp.account)) { code, call throws(UsherError) in
      try totp.code(code, call.caller)
    }
    list(TOTPList.self, .provider(\.provider)) { list, caller throws(UsherError) in
      try totp.list(list, caller)
    }

    list(ConsentList.self, .account { ($0.account, $0.provider) }) {
      list, caller throws(UsherError) in
      try consents.list(list, caller)
    }
    wait(ConsentRevoke.self, .account { ($0.account, $0.provider) }, admit: Self.admitAll) {
      revoke, call, _ async throws(UsherError) in
      try await consents.revoke(revoke, call.caller, where: call.covers)
    }
    wait(ClientClear.self, .provider(\.provider), admit: Self.admitAll) {
      clear, call, _ async throws(UsherError) in
      try await clients.clear(clear, call.caller, where: call.covers)
    }

    // Resolving users' names may take long.
    wait(ConfirmList.self) { _, caller async throws(UsherError) in await confirm.list(caller) }
    wait(ConfirmAnswer.self) { answer, caller async throws(UsherError) in
      try await confirm.answer(answer, caller)
    }
    wait(ConfirmForget.self) { forget, caller async throws(UsherError) in
      try await confirm.forget(forget, caller)
    }

    wait(FlowStart.self, .flowStart, admit: flows.admit) {
      start, call, place async throws(UsherError) in
      try await flows.start(start, call.caller, in: place, offering: call.covers)
    }
    add(FlowGet.self, .flow(\.flow)) { get, call throws(UsherError) in
      try .now(try flows.get(get, call.caller))
    }
    // It waits for nothing, but encoding a thousand flows takes too long for the event loop.
    wait(FlowList.self, .provider(\.provider)) { list, caller async throws(UsherError) in
      try await flows.list(list, caller)
    }
    wait(FlowSubmit.self, .flow(\.flow)) { submit, caller async throws(UsherError) in
      try await flows.submit(submit, caller)
    }
    wait(FlowCancel.self, .flow(\.flow)) { cancel, caller async throws(UsherError) in
      try await flows.cancel(cancel, caller)
    }
    wait(FlowWait.self, .flow(\.flow)) { wait, caller async throws(UsherError) in
      try await flows.wait(wait, caller)
    }

    let owners = services.ownerService
    wait(OwnerList.self) { _, _ async throws(UsherError) in try await owners.list() }
    wait(OwnerAccept.self) { accept, _ async throws(UsherError) in
      try await owners.accept(accept)
    }
    wait(OwnerForget.self) { forget, caller async throws(UsherError) in
      try await owners.forget(forget, caller)
    }

    wait(SystemBackup.self) { _, _ async throws(UsherError) in try await services.backUp() }
    wait(KeyCreateRecovery.self) { create, _ async throws(UsherError) in
      try await services.createRecoveryKey(create)
    }

    wait(AuditList.self) { list, _ async throws(UsherError) in try await audits.list(list) }
    wait(AuditVerify.self) { _, _ async throws(UsherError) in try await audits.verify() }

    wait(LocalAuthStatus.self) { _, caller async throws(UsherError) in
      await localAuth.status(caller)
    }
    wait(LocalAuthSetPasscode.self) { set, caller async throws(UsherError) in
      try await localAuth.setPasscode(set, caller)
    }

    wait(RegistrationCheckDuplicate.self, .provider(\.provider), admit: registration.admit) {
      _, _, question async throws(UsherError) in
      .init(duplicate: try await registration.isTaken(question))
    }
    wait(RegistrationCheckUserKey.self, .provider(\.provider), admit: registration.admit) {
      _, _, question async throws(UsherError) in
      .init(available: try await !registration.isTaken(question))
    }

    connect(EventsSubscribe.self) { subscribe, connection throws(UsherError) in
      try .now(try connection.subscribe(subscribe))
    }
    connect(EventsUnsubscribe.self) { unsubscribe, connection throws(UsherError) in
      try connection.unsubscribe(unsubscribe.subscription)
      return try .now(Done())
    }
  }

  /// Creates in advance what the first calls need.
  func warm() { for read in readings { read() } }

  /// - Returns: Nil if the method does not exist on this socket.
  func entry(_ name: String, isAdmin: Bool) -> MethodEntry? {
    entries.method(name, isAdmin: isAdmin)
  }

  /// Adds a method that waits for the disk, a provider or a person.
  private mutating func wait<M: Method>(
    _ type: M.Type, _ subject: Subject<M> = .method,
    _ handler: @escaping @Sendable (M, Caller) async throws(UsherError) -> M.Reply
  ) {
    let admit: @Sendable (M, Caller) throws(UsherError) -> Void = { _, _ in }
    wait(type, subject, admit: admit) { method, call, _ async throws(UsherError) in
      try await handler(method, call.caller)
    }
  }

  private static func admitAll<M: Method>(_ call: M, _ caller: Caller) {}

  /// Adds a method that waits, with a check before it.
  ///
  /// - Parameter admit: Returns what the handler needs, or throws. It runs on the event loop, so
  ///   that a flood of refused calls starts no tasks.
  private mutating func wait<M: Method, Admission: Sendable>(
    _ type: M.Type, _ subject: Subject<M>,
    admit: @escaping @Sendable (M, Caller) throws(UsherError) -> Admission,
    _ handler:
      @escaping @Sendable (M, AuthorizedCall, Admission) async throws(UsherError) -> M.Reply
  ) {
    enter(type, subject) { method, authorized throws(UsherError) in
      let admission: Admission
      do throws(UsherError) {
        admission = try admit(method, authorized.caller)
      } catch {
        throw authorized.failed(error)
      }
      return .later { () async throws(UsherError) in
        try await authorized.run { () async throws(UsherError) in
          let reply = try await handler(method, authorized, admission)
          return (try ReplyEncoder.encode(reply), (reply as? FlowStart.Reply)?.flow.id)
        }
      }
    }
  }

  private mutating func add<M: Method>(
    _ type: M.Type, _ subject: Subject<M> = .method,
    _ handler: @escaping @Sendable (M, AuthorizedCall) throws(UsherError) -> Response
  ) {
    enter(type, subject) { method, authorized throws(UsherError) in
      try authorized.perform { () throws(UsherError) in try handler(method, authorized) }
    }
  }

  /// Adds a method that lists all accounts, or those of a provider.
  private mutating func list<M: Method>(
    _ type: M.Type, _ subject: Subject<M>,
    _ handler: @escaping @Sendable (M, Caller) throws(UsherError) -> M.Reply
  ) {
    enter(type, subject, isList: true) { method, authorized throws(UsherError) in
      try authorized.perform { () throws(UsherError) in
        try .now(try handler(method, authorized.caller))
      }
    }
  }

  /// Adds a method that changes its connection.
  private mutating func connect<M: Method>(
    _ type: M.Type,
    _ handler: @escaping @Sendable (M, any ConnectionLink) throws(UsherError) -> Response
  ) {
    let services = services
    enterUndecided(type, .method) { method, call throws(UsherError) in
      var method = method
      let authorized = try services.authorise(&method, .method, call.caller)
      return try authorized.perform { () throws(UsherError) in try handler(method, call.connection)
      }
    }
  }

  /// Adds a method with a policy decision. If the decision needs accounts that are not in memory,
  /// the call is decided and answered off the event loop.
  private mutating func enter<M: Method>(
    _ type: M.Type, _ subject: Subject<M>, isList: Bool = false,
    _ handler: @escaping @Sendable (M, AuthorizedCall) throws(UsherError) -> Response
  ) {
    let services = services
    enterUndecided(type, subject) { method, call throws(UsherError) in
      let caller = call.caller
      guard let need = subject.need(of: method, isList: isList, flows: services.flows),
        !services.repository.holds(need, for: caller.owners)
      else {
        var method = method
        let authorized = try services.authorise(&method, subject, caller)
        return try handler(method, authorized)
      }
      let decide = { @Sendable () throws(UsherError) -> Response in
        try services.repository.read(need, for: caller.owners)
        if Task.isCancelled { throw UsherError(.cancelled, "the caller no longer waits") }
        var method = method
        let authorized = try services.authorise(&method, subject, caller)
        return try handler(method, authorized)
      }
      guard isList else { return .cold { () async throws(UsherError) in try decide() } }
      return .cold { () async throws(UsherError) in
        try await services.repository.lists.withLock(caller.uid) { () async throws(UsherError) in
          try decide()
        }
      }
    }
  }

  private mutating func enterUndecided<M: Method>(
    _ type: M.Type, _ subject: Subject<M>,
    _ handler: @escaping @Sendable (M, Call) throws(UsherError) -> Response
  ) {
    let schema = Lazy { StrictDecoding.schema(of: type) }
    readings.append { _ = schema.value }
    let services = services
    entries[M.name] = MethodEntry(
      type, schema: schema,
      refuse: { params, caller throws(UsherError) in
        try services.refuseEarly(type, subject, params, caller)
      }, run: handler)
  }
}

extension [String: MethodEntry] {
  /// The maximum length in bytes of a name that is looked up; longer than any method's name.
  private static var longestName: Int { 64 }

  /// Returns the entry of a method.
  ///
  /// Names are compared as bytes, because Swift strings treat U+212A (KELVIN SIGN) as equal to K. A
  /// longer name than any method's is not hashed.
  ///
  /// - Returns: Nil if the method does not exist on this socket.
  func method(_ name: String, isAdmin: Bool) -> MethodEntry? {
    guard name.utf8.count <= Self.longestName, let entry = self[name],
      entry.type.name.utf8.elementsEqual(name.utf8),
      entry.type.access.exists(forAdmin: isAdmin)
    else { return nil }
    return entry
  }
}

extension Subject {
  /// Returns the accounts that must be in memory for the policy decision, and for the reply of a
  /// list.
  fileprivate func need(of method: M, isList: Bool, flows: FlowService) -> AccountRepository.Need? {
    switch self {
    case .method, .flow: return nil
    case .provider(let provider): return isList ? .list(provider(method)) : nil
    case .start(let about, _): return flows.need(of: about(method))
    case .account(let about): return need(about(method), isList: isList)
    case .oneAccount(let one): return need(one.named(method), isList: false)
    }
  }

  private func need(
    _ named: (account: AccountID?, provider: ProviderName?), isList: Bool
  ) -> AccountRepository.Need? {
    if let account = named.account { return .account(account) }
    return isList ? .list(named.provider) : named.provider.map { .provider($0) }
  }
}

extension Access {
  func exists(forAdmin isAdmin: Bool) -> Bool {
    switch self {
    case .app: true
    case .admin: isAdmin
    }
  }
}

extension UsherError {
  static func wrongType(_ field: String, _ expected: String) -> UsherError {
    UsherError(.invalidParams, "\(field) must be \(expected)", detail: .init(field: field))
  }
}
