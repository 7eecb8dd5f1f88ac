import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// All that the daemon can do, on one page.
///
/// A handler decodes nothing and checks no rights: its parameters are decoded strictly, and the
/// policy has been asked, before it runs. It calls the domain and is done.
struct MethodTable: Sendable {
  private var entries: [String: MethodEntry] = [:]
  private let domain: Domain
  /// What the table reads off its types, made when it is first needed: reading costs more than all
  /// the rest of a start.
  private var readings: [@Sendable () -> Void] = []

  init(_ domain: Domain) {
    self.domain = domain
    let (flows, tokens, accounts) = (domain.flows, domain.tokens, domain.accounts)
    let (providers, credentials) = (domain.providerDesk, domain.credentials)
    let (localAuth, totp) = (domain.localAuth, domain.totp)
    let registration = domain.registration
    let (consents, clients) = (domain.consents, domain.clients)
    let audits = domain.audits
    let confirm = domain.confirm

    add(ProviderList.self) { _, call throws(UsherError) in try .now(providers.list(call.caller)) }
    add(ProviderGet.self, .provider(\.provider)) { get, _ throws(UsherError) in
      try .now(try providers.get(get.provider))
    }
    wait(ProviderCheck.self, .provider(\.provider)) { check, _ async throws(UsherError) in
      try await providers.check(check.provider)
    }

    let policies = domain.life.policies
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

    add(AccountList.self, .provider(\.provider)) { list, call throws(UsherError) in
      try .now(accounts.list(list.provider, call.caller))
    }
    add(AccountGet.self, .account { ($0.account, nil) }) { get, call throws(UsherError) in
      try .now(try accounts.get(get.account, call.caller))
    }
    wait(AccountForget.self, .account { ($0.account, $0.provider) }) {
      forget, caller async throws(UsherError) in
      try await tokens.forget(forget, caller)
    }

    add(TokenGet.self, .account { ($0.account, $0.provider) }) { get, call throws(UsherError) in
      try tokens.get(get, call.caller, within: call.permit.scopes)
    }
    add(TokenList.self, .account { ($0.account, $0.provider) }) { list, call throws(UsherError) in
      try .now(try accounts.tokens(list, call.caller))
    }
    wait(TokenRevoke.self, .account { ($0.account, $0.provider) }) {
      revoke, caller async throws(UsherError) in
      try await tokens.revoke(revoke, caller)
    }

    add(TOTPCode.self, .account { ($0.account, $0.provider) }) { code, call throws(UsherError) in
      try totp.code(code, call.caller)
    }
    add(TOTPList.self, .provider(\.provider)) { list, call throws(UsherError) in
      try .now(totp.list(list, call.caller))
    }

    add(ConsentList.self, .account { ($0.account, $0.provider) }) { list, call throws(UsherError) in
      try .now(try consents.list(list, call.caller))
    }
    wait(ConsentRevoke.self, .account { ($0.account, $0.provider) }) {
      revoke, caller async throws(UsherError) in
      try await consents.revoke(revoke, caller)
    }
    wait(ClientClear.self, .provider(\.provider)) { clear, caller async throws(UsherError) in
      try await clients.clear(clear, caller)
    }

    // Users' names may be far away.
    wait(ConfirmList.self) { _, caller async throws(UsherError) in await confirm.list(caller) }
    wait(ConfirmAnswer.self) { answer, caller async throws(UsherError) in
      try await confirm.answer(answer, caller)
    }
    wait(ConfirmForget.self) { forget, caller async throws(UsherError) in
      try await confirm.forget(forget, caller)
    }

    wait(FlowStart.self, .start { $0 }, admit: flows.admit) {
      start, caller, place async throws(UsherError) in
      try await flows.start(start, caller, in: place)
    }
    add(FlowGet.self, .flow(\.flow)) { get, call throws(UsherError) in
      try .now(try flows.get(get, call.caller))
    }
    // It waits for nothing, but a thousand flows take long to write down: not on the event loop.
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

    wait(SystemBackup.self) { _, _ async throws(UsherError) in try await domain.backUp() }
    wait(KeyCreateRecovery.self) { create, _ async throws(UsherError) in
      try await domain.createRecoveryKey(create)
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

    add(EventsSubscribe.self) { subscribe, call throws(UsherError) in
      try .now(try call.connection.subscribe(subscribe))
    }
    add(EventsUnsubscribe.self) { unsubscribe, call throws(UsherError) in
      try call.connection.unsubscribe(unsubscribe.subscription)
      return try .now(Done())
    }
  }

  /// Makes what would else be made at the first calls.
  func warm() { for read in readings { read() } }

  /// - Returns: Nil where the method does not exist on this socket.
  func entry(_ name: String, isAdmin: Bool) -> MethodEntry? {
    entries[name].flatMap { $0.type.access.exists(forAdmin: isAdmin) ? $0 : nil }
  }

  /// What methods there are, told without what they do.
  struct Surface: Sendable {
    let types: [any Method.Type]

    /// Whether there is such a method on this socket.
    func has(_ name: String, isAdmin: Bool) -> Bool {
      types.contains { $0.name == name && $0.access.exists(forAdmin: isAdmin) }
    }
  }

  var surface: Surface { Surface(types: entries.values.map(\.type)) }

  /// A method that waits: for the disk, a provider, a person.
  private mutating func wait<M: Method>(
    _ type: M.Type, _ subject: Subject<M> = .method,
    _ handler: @escaping @Sendable (M, Caller) async throws(UsherError) -> M.Reply
  ) {
    let admit: @Sendable (M, Caller) throws(UsherError) -> Void = { _, _ in }
    wait(type, subject, admit: admit) { method, caller, _ async throws(UsherError) in
      try await handler(method, caller)
    }
  }

  /// - Parameter admit: What is to be had first, and refused on the event loop where it is not to be
  ///   had, so that a flood of such calls costs no task.
  private mutating func wait<M: Method, Admission: Sendable>(
    _ type: M.Type, _ subject: Subject<M>,
    admit: @escaping @Sendable (M, Caller) throws(UsherError) -> Admission,
    _ handler: @escaping @Sendable (M, Caller, Admission) async throws(UsherError) -> M.Reply
  ) {
    enter(type, subject) { method, call, proceeding throws(UsherError) in
      let caller = call.caller
      let admission: Admission
      do throws(UsherError) {
        admission = try admit(method, caller)
      } catch {
        throw proceeding.failed(error)
      }
      return .later { () async throws(UsherError) in
        try await proceeding.run { () async throws(UsherError) in
          let reply = try await handler(method, caller, admission)
          return (try ReplyEncoder.encode(reply), (reply as? FlowStart.Reply)?.flow.id)
        }
      }
    }
  }

  private mutating func add<M: Method>(
    _ type: M.Type, _ subject: Subject<M> = .method,
    _ handler: @escaping @Sendable (M, Call) throws(UsherError) -> Response
  ) {
    enter(type, subject) { method, call, proceeding throws(UsherError) in
      try proceeding.follow { () throws(UsherError) in try handler(method, call) }
    }
  }

  private mutating func enter<M: Method>(
    _ type: M.Type, _ subject: Subject<M>,
    _ handler: @escaping @Sendable (M, Call, Proceeding) throws(UsherError) -> Response
  ) {
    let schema = Lazy { StrictDecoding.schema(of: type) }
    readings.append { _ = schema.value }
    let domain = domain
    entries[M.name] = MethodEntry(type: type) {
      params, call throws(UsherError) in
      let method = try StrictDecoding.decode(M.self, from: params, schema: schema.value)
      let proceeding = try domain.authorise(method, subject, call.caller)
      var call = call
      call.permit = proceeding.permit
      return try handler(method, call, proceeding)
    }
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
