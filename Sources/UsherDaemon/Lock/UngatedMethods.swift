import FoundationEssentials
import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// Methods that are answered whether the daemon is locked or not.
struct UngatedMethods: Sendable {
  private let lockController: LockController
  private let processContext: ProcessContext
  /// Created by the first call of `rpc.discover`, because few clients ever call it.
  private let document: Lazy<[UInt8]>
  private var entries: [String: MethodEntry] = [:]

  init(_ lockController: LockController) {
    self.lockController = lockController
    processContext = lockController.processContext
    document = Lazy { RPCDescription.document.encoded() }
    let (document, processContext) = (document, processContext)
    add(RPCHello.self) { hello, call throws(UsherError) in
      try .now(try processContext.hello(hello, on: call.connection))
    }
    add(RPCDiscover.self) { _, _ in
      if let document = document.existing { return .now(document) }
      // Takes too long for the event loop.
      return .cold { .now(document.value) }
    }
    entries[RPCCancel.name] = .cancel
    add(SystemStatus.self) { _, call throws(UsherError) in
      let status = lockController.unlocked?.services.status(call.caller)
      return try .now(status ?? processContext.lockedStatus(call.caller))
    }
    let lockService = LockService(lockController: lockController)
    add(SystemLock.self) { _, call throws(UsherError) in
      let caller = call.caller
      return .later { () async throws(UsherError) in
        try ReplyEncoder.encode(try await lockService.lock(caller))
      }
    }
    add(SystemUnlock.self) { unlock, call throws(UsherError) in
      let caller = call.caller
      return .later { () async throws(UsherError) in
        try ReplyEncoder.encode(try await lockService.unlock(unlock, caller))
      }
    }
    let reloadService = ReloadService(lockController: lockController)
    add(SystemReload.self) { _, call throws(UsherError) in
      let caller = call.caller
      return .later { () async throws(UsherError) in
        try ReplyEncoder.encode(try await reloadService.reload(caller))
      }
    }
  }

  /// - Returns: Nil if the method is not ungated, or not available on this socket.
  func entry(_ name: String, isAdmin: Bool) -> MethodEntry? {
    entries.method(name, isAdmin: isAdmin)
  }

  private mutating func add<M: Method>(
    _ type: M.Type, _ handler: @escaping @Sendable (M, Call) throws(UsherError) -> Response
  ) {
    let schema = Lazy { StrictDecoding.schema(of: type) }
    entries[M.name] = MethodEntry(type, schema: schema, refuse: { _, _ in }, run: handler)
  }
}

extension ProcessContext {
  fileprivate func hello(
    _ call: RPCHello, on connection: any ConnectionLink
  ) throws(UsherError) -> RPCHello.Reply {
    if let versions = call.protocol, !versions.contains(1) {
      throw UsherError(
        .invalidParams, "this usherd supports protocol 1 only", detail: .init(field: "protocol"))
    }
    return .init(
      protocol: 1, server: .init(version: Version.current),
      limits: try dependencies.config.limits.on(connection).byName(), instanceId: instanceID)
  }

  /// Returns the status of a locked daemon, in which the state of store and providers is unknown.
  fileprivate func lockedStatus(_ caller: Caller) -> SystemStatus.Reply {
    let seen = dependencies.config.providers.filter {
      caller.may(ProviderGet.name, provider: $0.name)
    }
    return .init(
      version: Version.current, uptimeSeconds: uptimeSeconds, ready: false, locked: true,
      providers: seen.map { .init(name: $0.name, type: $0.type, health: .unknown) }, flows: 0,
      connections: count.count(of: caller.isAdmin ? nil : caller.uid),
      peerIdentity: caller.isAdmin ? peerIdentity : nil)
  }

  /// The uptime; never negative, even if the clock is not monotonic and is set back.
  var uptimeSeconds: Int {
    max(0, Int((dependencies.clock.monotonicNow() - started).components.seconds))
  }

  /// The means by which the processes of connections are identified.
  var peerIdentity: String { dependencies.sockets.tellsPeerByDescriptor ? "pidfd" : "pid" }
}

extension Limits {
  /// Returns these limits, with those that are fixed for the life of a connection replaced by its
  /// own.
  fileprivate func on(_ connection: any ConnectionLink) -> Limits {
    let own = connection.limits
    var limits = self
    limits.maxLineBytes = own.maxLineBytes
    limits.nesting = own.nesting
    limits.lineSeconds = own.lineSeconds
    limits.batch = own.batch
    limits.callsInFlight = own.callsInFlight
    limits.unreadReplyBytes = own.unreadReplyBytes
    limits.unreadReplySeconds = own.unreadReplySeconds
    limits.eventQueue = own.eventQueue
    return limits
  }

  /// Returns every limit by its key in the configuration.
  fileprivate func byName() throws(UsherError) -> [String: Int] {
    let encoded = try ReplyEncoder.encode(self)
    let members = try? JSONValue(parsing: encoded).objectValue
    return (members ?? [:]).compactMapValues { $0.integerValue.map(Int.init) }
  }
}
