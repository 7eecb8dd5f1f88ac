public import JSONRPC

/// Returns the OpenRPC document of the daemon.
public struct RPCDiscover: Method, Equatable {
  public static let name = "rpc.discover"
  public static let traits = MethodTraits(
    access: .app, audience: .everybody, repetition: .always, worksLocked: true)
  public static let subject = Subject<Self>.method
  public static let summary = "Returns the OpenRPC document of the daemon."
  public typealias Reply = JSONValue

  public init() {}

  public static let example = MethodExample(
    [:],
    returns: [
      "openrpc": "1.3.2", "info": ["title": "usherd", "version": "1.0.0"], "methods": [],
    ])
}
