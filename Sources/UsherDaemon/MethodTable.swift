import JSONRPC
import UsherAPI
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

    add(RPCHello.self) { hello, _ throws(UsherError) in try .now(try domain.hello(hello)) }
    add(RPCCancel.self) { cancel, call throws(UsherError) in
      guard let id = RequestID(cancel.id) else { throw .wrongType("id", "a string or a number") }
      call.connection.cancel(id)
      return try .now(Done())
    }
    add(SystemStatus.self) { _, call throws(UsherError) in try .now(domain.status(call.caller)) }

    add(ProviderList.self) { _, call throws(UsherError) in try .now(providers.list(call.caller)) }
    add(ProviderGet.self, .provider(\.provider)) { get, _ throws(UsherError) in
      try .now(try providers.get(get.provider))
    }
    wait(ProviderCheck.self, .provider(\.provider)) { check, _ async throws(UsherError) in
      try await providers.check(check.provider)
    }

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
      try await tokens.forget(forget, caller.owner)
    }

    add(TokenGet.self, .account { ($0.account, $0.provider) }) { get, call throws(UsherError) in
      try tokens.get(get, call.caller)
    }
    add(TokenList.self, .account { ($0.account, $0.provider) }) { list, call throws(UsherError) in
      try .now(try accounts.tokens(list, call.caller.owner))
    }
    wait(TokenRevoke.self, .account { ($0.account, $0.provider) }) {
      revoke, caller async throws(UsherError) in
      try await tokens.revoke(revoke, caller.owner)
    }

    add(TOTPCode.self, .account { ($0.account, $0.provider) }) { code, call throws(UsherError) in
      try totp.code(code, call.caller)
    }
    add(TOTPList.self, .provider(\.provider)) { list, call throws(UsherError) in
      try .now(totp.list(list, call.caller.owner))
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

    wait(FlowStart.self, .start { $0 }) {
      start, caller async throws(UsherError) in
      try await flows.start(start, caller)
    }
    add(FlowGet.self, .flow(\.flow)) { get, call throws(UsherError) in
      try .now(try flows.get(get, call.caller))
    }
    // It waits for nothing, but a thousand flows take long to write down: not on the event loop.
    wait(FlowList.self, .provider(\.provider)) { list, caller async throws(UsherError) in
      flows.list(list, caller)
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

    wait(LocalAuthStatus.self) { _, caller async throws(UsherError) in
      await localAuth.status(caller)
    }
    wait(LocalAuthSetPasscode.self) { set, caller async throws(UsherError) in
      try await localAuth.setPasscode(set, caller)
    }

    wait(RegistrationCheckDuplicate.self, .provider(\.provider)) {
      check, caller async throws(UsherError) in
      try await registration.checkDuplicate(check, caller)
    }
    wait(RegistrationCheckUserKey.self, .provider(\.provider)) {
      check, caller async throws(UsherError) in
      try await registration.checkUserKey(check, caller)
    }

    add(EventsSubscribe.self) { subscribe, call throws(UsherError) in
      try .now(try call.connection.subscribe(subscribe))
    }
    add(EventsUnsubscribe.self) { unsubscribe, call throws(UsherError) in
      try call.connection.unsubscribe(unsubscribe.subscription)
      return try .now(Done())
    }

    let types = self.types + [RPCDiscover.self]
    let document = Lazy<Result<[UInt8], UsherError>> {
      Result { () throws(UsherError) in
        try ReplyEncoder.encode(OpenRPC.document(version: Version.current, methods: types))
      }
    }
    add(RPCDiscover.self) { _, _ throws(UsherError) in .now(try document.value.get()) }
    readings.append { _ = document.value }
  }

  /// Makes what would else be made at the first calls.
  func warm() { for read in readings { read() } }

  private var types: [any Method.Type] { entries.values.map(\.type) }

  /// - Returns: Nil where the method does not exist on this socket.
  func entry(_ name: String, isAdmin: Bool) -> MethodEntry? {
    guard let entry = entries[name] else { return nil }
    switch entry.type.access {
    case .app: return entry
    case .admin: return isAdmin ? entry : nil
    }
  }

  /// A method that waits: for the disk, a provider, a person.
  private mutating func wait<M: Method>(
    _ type: M.Type, _ subject: Subject<M> = .method,
    _ handler: @escaping @Sendable (M, Caller) async throws(UsherError) -> M.Reply
  ) {
    add(type, subject) { method, call in
      let caller = call.caller
      return .later { () async throws(UsherError) in
        try ReplyEncoder.encode(try await handler(method, caller))
      }
    }
  }

  private mutating func add<M: Method>(
    _ type: M.Type, _ subject: Subject<M> = .method,
    _ handler: @escaping @Sendable (M, Call) throws(UsherError) -> Response
  ) {
    let schema = Lazy { StrictDecoding.schema(of: type) }
    readings.append { _ = schema.value }
    let domain = domain
    entries[M.name] = MethodEntry(type: type) {
      params, call throws(UsherError) in
      let method = try StrictDecoding.decode(M.self, from: params, schema: schema.value)
      try domain.authorise(method, subject, call.caller)
      return try handler(method, call)
    }
  }
}

extension UsherError {
  static func wrongType(_ field: String, _ expected: String) -> UsherError {
    UsherError(.invalidParams, "\(field) must be \(expected)", detail: .init(field: field))
  }
}
