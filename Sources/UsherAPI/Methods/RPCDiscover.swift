public import JSONRPC

/// Returns the OpenRPC document of the daemon.
public struct RPCDiscover: Method, Equatable {
  public static let name = "rpc.discover"
  public static let traits = MethodTraits(
    access: .app, audience: .everybody, repetition: .always, worksLocked: true)
  public static let summary = "Return the OpenRPC document of this daemon."
  public typealias Reply = JSONValue

  public init() {}
}
