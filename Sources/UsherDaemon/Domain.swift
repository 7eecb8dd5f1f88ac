import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// What the method table calls: the parts of the daemon that know what a call means.
struct Domain: Sendable {
  let world: World
  let instanceID: String
  let startedAt: Timestamp
  let store: Store
  let masterKeyOrigin: String
  let peerIdentity: String
  let count: ConnectionCount
  let health: ProviderHealth

  let flows: FlowDesk
  let tokens: TokenDesk
  let totp: TOTPDesk
  let accounts: AccountDesk
  let consents: ConsentDesk
  let clients: ClientDesk
  let book: AccountBook
  let providers: Providers
  let providerDesk: ProviderDesk
  let credentials: Credentials
  let localAuth: LocalAuthMethods
  let registration: RegistrationDesk

  func hello(_ call: RPCHello) throws(UsherError) -> RPCHello.Reply {
    if let versions = call.protocol, !versions.contains(1) {
      throw UsherError(
        .invalidParams, "this usherd speaks protocol 1", detail: .init(field: "protocol"))
    }
    return .init(
      protocol: 1, server: .init(version: Version.current),
      limits: try world.config.limits.byName(),
      instanceId: instanceID)
  }

  func status(_ caller: Caller) -> SystemStatus.Reply {
    let stored = store.status
    let isAdmin = caller.isAdmin
    let seen = providers.all.filter { caller.may(ProviderGet.name, provider: $0.name) }
    return .init(
      version: Version.current,
      uptimeSeconds: Int((world.clock.now() - startedAt).milliseconds / 1000), ready: true,
      providers: seen.map {
        .init(name: $0.name, type: $0.type, health: health.health(of: $0.name))
      },
      flows: flows.engine.liveCount(of: isAdmin ? nil : caller.owner),
      connections: count.count(of: isAdmin ? nil : caller.owner.uid),
      store: isAdmin
        ? .init(
          path: stored.path, schemaVersion: stored.schemaVersion,
          sizeBytes: Int(stored.sizeBytes)) : nil,
      masterKey: isAdmin ? masterKeyOrigin : nil, peerIdentity: isAdmin ? peerIdentity : nil)
  }

  /// Asks the policy about a call, and the local authenticator where that makes a condition. A rule
  /// holds as long as the connection; who has proved to be there is looked up at each call.
  func authorise<M: Method>(
    _ call: M, _ subject: Subject<M>, _ caller: Caller
  ) throws(UsherError) {
    guard let seconds = try permit(call, subject, caller) else { return }
    try localAuth.check(within: seconds, of: caller)
  }

  /// Asks the policy about a call, with the provider and kind of what it is about.
  ///
  /// What is not the caller's has no provider here: the handler will not find it either.
  ///
  /// - Returns: As ``Caller/check(_:provider:kind:operation:)``.
  private func permit<M: Method>(
    _ call: M, _ subject: Subject<M>, _ caller: Caller
  ) throws(UsherError) -> Int? {
    switch subject {
    case .method: return try caller.check(M.name)
    case .provider(let provider): return try caller.check(M.name, provider: provider(call))
    case .start(let about):
      let start = about(call)
      return try caller.check(
        M.name, provider: start.provider, kind: start.kind, operation: start.operation)
    case .account(let about):
      let (id, name) = about(call)
      let owned = id.flatMap { try? book.account($0, of: caller.owner) }
      return try caller.check(M.name, provider: owned?.provider ?? name)
    case .flow(let id):
      let owned = try? flows.engine.flow(id(call), of: caller.owner)
      return try caller.check(M.name, provider: owned?.provider, kind: owned?.kind)
    }
  }
}

extension Limits {
  /// Every limit by its key in the configuration.
  fileprivate func byName() throws(UsherError) -> [String: Int] {
    let encoded = try ReplyEncoder.encode(self)
    let members = try? JSONValue(parsing: encoded).objectValue
    return (members ?? [:]).compactMapValues { $0.integerValue.map(Int.init) }
  }
}
