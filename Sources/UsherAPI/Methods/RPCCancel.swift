public import JSONRPC

/// Cancels a call in flight on this connection. The call still gets exactly one reply.
public struct RPCCancel: Method, Equatable {
  public static let name = "rpc.cancel"
  public static let traits = MethodTraits(access: .app, audience: .everybody, worksLocked: true)
  public static let summary =
    "Cancel a call in progress on this connection; it still gets its one reply."
  public typealias Reply = Done

  /// The JSON-RPC id of the call, as the client sent it.
  public var id: JSONValue

  public init(id: JSONValue) {
    self.id = id
  }
}
