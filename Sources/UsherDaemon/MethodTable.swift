import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// All RPC methods of the daemon. Those that also work while the daemon is locked are listed first.
///
/// `RequestPipeline.swift` lists the stages of serving a method. Its handler only calls a service.
struct MethodTable: Sendable {
  typealias Handler<M, Result> =
    @Sendable (M, AuthorizedCall, Services) throws(UsherError) -> Result
  typealias WaitingHandler<M, Result> =
    @Sendable (M, AuthorizedCall, Services) async throws(UsherError) -> Result
  /// A method of a service that handles an RPC call: it takes the decoded call and its caller.
  /// While such a call waits, it keeps only this service in memory, so that the other services are
  /// released when the daemon is locked.
  typealias ServiceMethod<M, Result> =
    @Sendable (Services) -> @Sendable (M, Caller) async throws(UsherError) -> Result

  private var entries: [String: MethodEntry] = [:]
  private let processContext: ProcessContext
  /// Functions that build the schemas of the methods' types. The schemas are not built at the
  /// start, because that takes longer than the rest of it, but when first needed or by ``warm()``.
  private var warmUps: [@Sendable () -> Void] = []

  init(_ lockController: LockController) {
    processContext = lockController.processContext
    addMethods(ofLocked: lockController)
    addProviderMethods()
    addAccountMethods()
    addFlowMethods()
    addOperatorMethods()
    connect(EventsSubscribe.self) { subscribe, connection throws(UsherError) in
      try connection.subscribe(subscribe)
    }
    connect(EventsUnsubscribe.self) { unsubscribe, connection throws(UsherError) in
      try connection.unsubscribe(unsubscribe.subscription)
      return Done()
    }
  }

  /// Adds the methods with the trait `worksLocked`, which also work while the daemon is locked.
  private mutating func addMethods(ofLocked lockController: LockController) {
    let processContext = processContext
    addUngated(RPCHello.self) { hello, call throws(UsherError) in
      try .now(try processContext.hello(hello, on: call.connection))
    }
    // The document is created by the first call, because few clients ever ask for it.
    let document = Lazy { RPCDescription.document.encoded() }
    addUngated(RPCDiscover.self) { _, _ in
      if let document = document.existing { return .now(document) }
      // Creating the document takes too long for the event loop.
      return .cold { .now(document.value) }
    }
    entries[RPCCancel.name] = .cancel
    addUngated(SystemStatus.self) { _, call throws(UsherError) in
      let status = lockController.unlocked?.status(call.caller)
      return try .now(status ?? processContext.lockedStatus(call.caller))
    }
    let lockService = LockService(lockController: lockController)
    waitUngated(SystemLock.self) { _, call async throws(UsherError) in
      try await lockService.lock(call)
    }
    waitUngated(SystemUnlock.self) { unlock, call async throws(UsherError) in
      try await lockService.unlock(unlock, call)
    }
    let reloadService = ReloadService(lockController: lockController)
    waitUngated(SystemReload.self) { _, call async throws(UsherError) in
      try await reloadService.reload(call)
    }
  }

  private mutating func addProviderMethods() {
    add(ProviderList.self) { _, call, services in services.providerService.list(call.caller) }
    add(ProviderGet.self) { get, _, services throws(UsherError) in
      try services.providerService.get(get.provider)
    }
    wait(ProviderJWKS.self) { jwks, _, services async throws(UsherError) in
      try await services.providerService.jwks(jwks)
    }
    wait(ProviderClientMetadata.self) { call, _, services async throws(UsherError) in
      try await services.providerService.clientMetadata(call)
    }
    wait(ProviderRegister.self) { register, _, services async throws(UsherError) in
      try await services.providerService.register(register)
    }
    wait(ProviderUnregister.self) { unregister, _, services async throws(UsherError) in
      try await services.providerService.unregister(unregister)
    }
    wait(ProviderCheck.self) { check, _, services async throws(UsherError) in
      try await services.providerService.check(check.provider)
    }
    wait(CredentialSet.self) { $0.credentials.set }
    add(CredentialList.self) { _, _, services throws(UsherError) in
      try services.credentials.list()
    }
    wait(CredentialDelete.self) { $0.credentials.delete }
    register(RegistrationCheckDuplicate.self) { check, call, services throws(UsherError) in
      let question = try call.recordingFailure { () throws(UsherError) in
        try services.registration.admit(check, call.caller)
      }
      return call.later { () async throws(UsherError) in
        RegistrationCheckDuplicate.Reply(
          duplicate: try await services.registration.isRegistered(question))
      }
    }
    register(RegistrationCheckUserKey.self) { check, call, services throws(UsherError) in
      let question = try call.recordingFailure { () throws(UsherError) in
        try services.registration.admit(check, call.caller)
      }
      return call.later { () async throws(UsherError) in
        RegistrationCheckUserKey.Reply(
          available: try await !services.registration.isRegistered(question))
      }
    }
  }

  private mutating func addAccountMethods() {
    add(AccountList.self, isList: true) { list, call, services throws(UsherError) in
      try services.accounts.list(list.provider, call.caller)
    }
    add(AccountGet.self) { _, call, services throws(UsherError) in
      services.accounts.get(try call.account, call.caller)
    }
    wait(AccountForget.self) { forget, call, services async throws(UsherError) in
      try await services.tokens.forget(forget, of: try call.account, call.caller)
    }

    respond(TokenGet.self) { get, call, services throws(UsherError) in
      try services.tokens.get(get, of: try call.account, call.caller, within: call.permit.scopes)
    }
    respond(TokenProof.self) { proof, call, services throws(UsherError) in
      try services.tokens.proof(
        proof, of: try call.account, call.caller, within: call.permit.scopes)
    }
    respond(TokenForTarget.self) { forTarget, call, services throws(UsherError) in
      try services.tokens.get(forTarget, call)
    }
    add(TargetResolve.self) { resolve, call, services throws(UsherError) in
      try services.resolve(resolve, call)
    }
    add(TargetList.self) { _, call, services in services.targets(for: call.caller) }
    add(TokenList.self, isList: true) { list, call, services throws(UsherError) in
      let account = list.account == nil ? nil : try call.account
      return try services.accounts.tokens(list, of: account, call.caller)
    }
    wait(TokenRevoke.self) { _, call, services async throws(UsherError) in
      try await services.tokens.revoke(of: try call.account, call.caller)
    }

    respond(TOTPCode.self) { _, call, services throws(UsherError) in
      try services.totp.code(of: try call.account, call.caller)
    }
    add(TOTPList.self, isList: true) { list, call, services throws(UsherError) in
      try services.totp.list(list, call.caller)
    }

    add(ConsentList.self, isList: true) { list, call, services throws(UsherError) in
      try services.consents.list(list, of: call.target, call.caller)
    }
    wait(ConsentRevoke.self) { revoke, call, services async throws(UsherError) in
      try await services.consents.revoke(revoke, of: call.target, call.caller, where: call.covers)
    }
    wait(ClientClear.self) { clear, call, services async throws(UsherError) in
      try await services.clients.clear(clear, call.caller, where: call.covers)
    }
  }

  private mutating func addFlowMethods() {
    register(FlowStart.self) { start, call, services throws(UsherError) in
      let reservation = try call.recordingFailure { () throws(UsherError) in
        try services.flows.admit(start, call.caller)
      }
      return call.later(starting: { (reply: FlowStart.Reply) in reply.flow.id }) {
        [account = call.target?.id, call = call.withoutTarget]
        () async throws(UsherError) in
        try await services.flows.start(
          start, of: account, for: call.request.subject, call.caller, in: reservation,
          offering: call.covers)
      }
    }
    add(FlowGet.self) { get, call, services throws(UsherError) in
      try services.flows.get(get, call.caller)
    }
    // It waits for nothing, but encoding a thousand flows takes too long for the event loop.
    wait(FlowList.self) { $0.flows.list }
    wait(FlowSubmit.self) { $0.flows.submit }
    wait(FlowCancel.self) { $0.flows.cancel }
    wait(FlowWait.self) { $0.flows.wait }

    // Looking up the names of users may take long.
    wait(ConfirmList.self) { _, call, services async in await services.confirm.list(call.caller) }
    wait(ConfirmAnswer.self) { $0.confirm.answer }
    wait(ConfirmForget.self) { $0.confirm.forget }
    wait(LocalAuthStatus.self) { _, call, services async in
      await services.localAuth.status(call.caller)
    }
    wait(LocalAuthSetPasscode.self) { $0.setPasscode }
  }

  private mutating func addOperatorMethods() {
    wait(PolicyList.self) { _, _, services async in services.processContext.policies.list() }
    wait(PolicyCheck.self) { $0.processContext.policies.check }
    wait(OwnerList.self) { $0.ownerService.list }
    wait(OwnerAccept.self) { $0.ownerService.accept }
    wait(OwnerForget.self) { $0.ownerService.forget }
    wait(SystemBackup.self) { $0.backUp }
    wait(KeyCreateRecovery.self) { $0.createRecoveryKey }
    wait(AuditList.self) { $0.audits.list }
    wait(AuditVerify.self) { $0.audits.verify }
  }

  /// Builds the schemas that the first calls need. Called in the background after the start.
  func warm() { for read in warmUps { read() } }

  /// The maximum length in bytes of a method name that is looked up; no method's name is longer.
  private static let maxNameBytes = 64

  /// Returns the entry of a method.
  ///
  /// Names are compared as bytes, because Swift strings treat U+212A (KELVIN SIGN) as equal to K. A
  /// name longer than any method's is not even hashed.
  ///
  /// - Returns: Nil if the method does not exist on the caller's socket.
  func entry(_ name: String, isAdmin: Bool) -> MethodEntry? {
    guard name.utf8.count <= Self.maxNameBytes, let entry = entries[name],
      entry.type.name.utf8.elementsEqual(name.utf8), entry.type.access == .app || isAdmin
    else { return nil }
    return entry
  }
}

// MARK: - Ways to answer

extension MethodTable {
  /// Adds a method that answers at once, on the event loop. Its handler must not block.
  ///
  /// - Parameter isList: Whether the method lists all accounts, or those of a provider.
  mutating func add<M: Method>(
    _ type: M.Type, isList: Bool = false, _ handler: @escaping Handler<M, M.Reply>
  ) {
    respond(type, isList: isList) { method, call, services throws(UsherError) in
      try .now(try handler(method, call, services))
    }
  }

  /// Adds a method whose reply waits for the disk, a provider or a person.
  private mutating func wait<M: Method>(
    _ type: M.Type, _ handler: @escaping WaitingHandler<M, M.Reply>
  ) {
    register(type) { method, call, services in
      call.later { () async throws(UsherError) in try await handler(method, call, services) }
    }
  }

  private mutating func wait<M: Method>(
    _ type: M.Type, _ handler: @escaping ServiceMethod<M, M.Reply>
  ) {
    register(type) { method, call, services in
      let run = handler(services)
      return call.later { [caller = call.caller] () async throws(UsherError) in
        try await run(method, caller)
      }
    }
  }

  /// Adds a method whose reply waits and does not depend on the caller.
  private mutating func wait<M: Method>(
    _ type: M.Type,
    _ handler:
      @escaping @Sendable (Services) -> @Sendable (M) async throws(UsherError) -> M.Reply
  ) {
    register(type) { method, call, services in
      let run = handler(services)
      return call.later { () async throws(UsherError) in try await run(method) }
    }
  }

  /// Adds a method whose handler chooses how to answer each call: at once, later or from a cache.
  private mutating func respond<M: Method>(
    _ type: M.Type, isList: Bool = false, _ handler: @escaping Handler<M, Response>
  ) {
    register(type, isList: isList) { method, call, services throws(UsherError) in
      try call.perform { () throws(UsherError) in try handler(method, call, services) }
    }
  }

  /// Adds a method that changes the state of the connection on which it is called.
  private mutating func connect<M: Method>(
    _ type: M.Type,
    _ handler: @escaping @Sendable (M, any ConnectionLink) throws(UsherError) -> M.Reply
  ) {
    registerUndecided(type) { method, call, services throws(UsherError) in
      try services.decide(method, call.caller) {
        method, authorized, _ throws(UsherError) in
        try authorized.perform { () throws(UsherError) in
          try .now(try handler(method, call.connection))
        }
      }
    }
  }

  /// Adds a method whose handler itself records the outcome of the call in the audit log.
  private mutating func register<M: Method>(
    _ type: M.Type, isList: Bool = false, _ handler: @escaping Handler<M, Response>
  ) {
    registerUndecided(type) { method, call, services throws(UsherError) in
      try services.serve(method, isList: isList, call.caller, handler)
    }
  }

  private mutating func registerUndecided<M: Method>(
    _ type: M.Type,
    _ run: @escaping @Sendable (M, Call, Services) throws(UsherError) -> Response
  ) {
    entries[M.name] = MethodEntry(
      type, schema: schema(of: type),
      refuse: { params, caller, services throws(UsherError) in
        try services.refuseEarly(type, params, caller)
      },
      run: { method, call, services throws(UsherError) in
        guard let services else { throw .locked }
        return try run(method, call, services)
      })
  }

  /// Adds a method that is answered, locked or not, without a decision by the access policy.
  private mutating func addUngated<M: Method>(
    _ type: M.Type, _ handler: @escaping @Sendable (M, Call) throws(UsherError) -> Response
  ) {
    entries[M.name] = MethodEntry(
      type, schema: schema(of: type), refuse: { _, _, _ in },
      run: { method, call, _ throws(UsherError) in try handler(method, call) })
  }

  /// Adds a method that is answered whether the daemon is locked or not, and whose reply waits. The
  /// access policy decides by the method alone; the handler records the outcome in the audit log.
  private mutating func waitUngated<M: Method>(
    _ type: M.Type,
    _ handler: @escaping @Sendable (M, AuthorizedCall) async throws(UsherError) -> M.Reply
  ) {
    let audit = processContext.audit
    addUngated(type) { method, call throws(UsherError) in
      let authorized = try AuthorizedCall(ungated: type, call.caller, audit)
      return .later { () async throws(UsherError) in
        try ReplyEncoder.encode(try await handler(method, authorized))
      }
    }
  }

  private mutating func schema<M: Method>(of type: M.Type) -> Lazy<Schema> {
    let schema = Lazy { StrictDecoding.schema(of: type) }
    warmUps.append { _ = schema.value }
    return schema
  }
}

extension UsherError {
  static func wrongType(_ field: String, _ expected: String) -> UsherError {
    UsherError(.invalidParams, "\(field) must be \(expected)", field: field)
  }
}
