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
