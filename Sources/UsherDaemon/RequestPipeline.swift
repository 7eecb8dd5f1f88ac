import JSONRPC
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherTransport

// The stages of an RPC call, in the order in which they run, and the code of each:
//
// frame, cached reply   `ConnectionHandler`, `ReplyCache`
// method, lock          `find(_:_:)`, `MethodTable`
// early refusal         `decode(_:of:_:)`, `Services.refuseEarly`
// parameters            `decode(_:of:_:)`
// owner of the uid      `admit(_:_:to:)`
// accounts in memory    `serve(_:isList:_:_:)`
// what it is about      `decide(_:_:_:)`, `Services.resolve`
// authorization         `decide(_:_:_:)`, `Services.authorize`
// handler               the closure in `MethodTable`
// encoding, audit       `AuthorizedCall.perform`, `AuthorizedCall.later`
// reply                 `ConnectionHandler`, `WriteCoalescer`

extension RPCService {
  /// Answers an RPC call whose parameters are still JSON text.
  func respond(
    to method: String, params: UnsafeRawBufferPointer?, _ call: Call
  ) throws(UsherError) -> Response {
    let target = try find(method, call.caller)
    return try serve(try decode(params, of: target, call.caller), call, by: target)
  }

  /// Answers an RPC call whose parameters have been decoded already.
  func respond(
    to method: String, decoded params: DecodedParams, _ call: Call
  ) throws(UsherError) -> Response {
    try serve(params, call, by: try find(method, call.caller))
  }

  /// Decodes the parameters of an RPC call in a long line, for ``respond(to:decoded:_:)``. May run
  /// on any thread.
  ///
  /// - Throws: The error to reply with, which may be that the caller must not make the call.
  func decode(
    _ params: UnsafeRawBufferPointer?, of method: String, _ caller: Caller
  ) throws(UsherError) -> DecodedParams {
    try decode(params, of: try find(method, caller), caller)
  }

  /// A method, and the services that it needs; nil if it also works while the daemon is locked.
  private typealias Target = (method: MethodEntry, services: Services?)

  /// Finds the method, then checks that the daemon is unlocked unless the method also works locked.
  private func find(_ name: String, _ caller: Caller) throws(UsherError) -> Target {
    if isDraining.load(ordering: .acquiring) { throw .stopping }
    guard let method = table.entry(name, isAdmin: caller.isAdmin) else {
      throw UsherError(.methodNotFound, "the method does not exist on this socket")
    }
    if method.worksLocked { return (method, nil) }
    guard let services = lockController.unlocked else { throw .locked }
    return (method, services)
  }

  /// Refuses a caller without rights to make the call, then decodes the parameters.
  private func decode(
    _ params: UnsafeRawBufferPointer?, of target: Target, _ caller: Caller
  ) throws(UsherError) -> DecodedParams {
    if let services = target.services { try target.method.refuse(params, caller, services) }
    return try target.method.decode(params, caller.isAdmin ? .none : ParamsLimit(limits))
  }

  private func serve(
    _ params: DecodedParams, _ call: Call, by target: Target
  ) throws(UsherError) -> Response {
    guard let services = target.services else { return try target.method.run(params, call, nil) }
    return services.inFlightCalls.track(try services.admit(params, call, to: target.method))
  }
}

extension Services {
  /// Checks that the caller's uid still belongs to the same user, then runs the method. If the user
  /// database must be asked, this is done off the event loop.
  fileprivate func admit(
    _ params: DecodedParams, _ call: Call, to method: MethodEntry
  ) throws(UsherError) -> Response {
    let caller = call.caller
    let isAdmitted: Bool
    do throws(UsherError) {
      isAdmitted = try owners.admits(caller)
    } catch {
      throw withheld(error, method, caller)
    }
    if isAdmitted { return try method.run(params, call, self) }
    return .cold { () async throws(UsherError) in
      do throws(UsherError) {
        try await self.owners.verify(caller)
      } catch {
        throw self.withheld(error, method, caller)
      }
      return .resumed { call throws(UsherError) in try method.run(params, call, self) }
    }
  }

  /// Records in the audit log that a caller is denied because its uid belonged to another user when
  /// the objects were stored.
  fileprivate func withheld(
    _ error: UsherError, _ method: MethodEntry, _ caller: Caller
  ) -> UsherError {
    guard error.reason == .permissionDenied else { return error }
    return audit.denied(
      error, PolicyRequest(method: method.type.name), caller, rule: "(owner)", unmet: [])
  }

  /// Loads the accounts that the policy decision needs, then decides and answers the call. If the
  /// accounts are not in memory, this is done off the event loop.
  func serve<M: Method>(
    _ method: M, isList: Bool, _ caller: Caller,
    _ handle: @escaping MethodTable.Handler<M, Response>
  ) throws(UsherError) -> Response {
    guard let lookup = M.subject.lookup(of: method, isList: isList, self),
      !repository.isInMemory(lookup, for: caller.owners)
    else { return try decide(method, caller, handle) }
    let read = { @Sendable () throws(UsherError) -> Response in
      try self.repository.read(lookup, for: caller.owners)
      if Task.isCancelled { throw UsherError(.cancelled, "the caller no longer waits") }
      return try self.decide(method, caller, handle)
    }
    guard isList else { return .cold { () async throws(UsherError) in try read() } }
    return .cold { () async throws(UsherError) in
      try await self.repository.lists.withLock(caller.uid) { () async throws(UsherError) in
        try read()
      }
    }
  }

  /// Finds the object that the call is about, authorizes the call, and passes it to its handler.
  /// ``AuthorizedCall`` encodes the handler's reply and records the outcome in the audit log.
  func decide<M: Method>(
    _ method: M, _ caller: Caller,
    _ handle: (M, AuthorizedCall, Services) throws(UsherError) -> Response
  ) throws(UsherError) -> Response {
    let target = try resolve(method, caller)
    return try handle(method, try authorize(method, about: target, caller), self)
  }
}

extension Subject {
  /// Returns the accounts that must be in memory for the policy decision about a call and, for a
  /// method that lists accounts, for its reply; nil if none.
  fileprivate func lookup(
    of method: M, isList: Bool, _ services: Services
  ) -> AccountRepository.Lookup? {
    switch self {
    case .method, .flow, .owner: return nil
    case .provider(let provider): return isList ? .list(provider(method)) : nil
    case .start(let about): return services.flows.lookup(of: about(method))
    case .target(let asked), .tokenForTarget(let asked):
      let target = services.target(for: asked(method))
      return lookup((target?.account, target?.provider), isList: false)
    case .account(let about), .oneAccount(let about), .oneAccountWithCodes(let about),
      .token(let about, scope: _, audience: _, kind: _):
      return lookup(about(method), isList: isList)
    }
  }

  private func lookup(
    _ named: (account: AccountID?, provider: ProviderName?), isList: Bool
  ) -> AccountRepository.Lookup? {
    if let account = named.account { return .account(account) }
    return isList ? .list(named.provider) : named.provider.map { .provider($0) }
  }
}
