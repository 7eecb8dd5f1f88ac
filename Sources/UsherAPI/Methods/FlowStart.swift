public import JSONRPC
public import UsherCore

/// Starts a flow of a provider.
public struct FlowStart: Method, Equatable {
  public static let name = "flow.start"
  public static let traits = MethodTraits(
    access: .app, repetition: .ifGiven("requestId"), audit: .everything, isConfirmable: true)
  public static let subject = Subject<Self>.start { $0 }
  public static let summary = "Starts a flow of a provider, for example a sign-in."
  public static let discussion = """
    The call returns when the flow is stored. The flow's first step is then often `wait`: use \
    `waitMs`, or call `flow.wait`.
    """

  /// The name of the provider, from `provider.list`.
  public var provider: ProviderName
  /// The kind of the flow, one of those that `provider.get` returns.
  public var kind: String
  /// The parameters of the flow. Their schema depends on the provider's type and the kind:
  /// `provider.get` returns it, and `x-flows` of the OpenRPC document lists all.
  public var params: JSONValue
  /// An id of 1 to 128 bytes that the caller chooses. If the owner has started a flow of the
  /// provider with the same id within `limits.request_id_days`, the call fails with
  /// `request_id_reused`.
  public var requestId: String?
  /// How long the reply waits for a step other than `wait` or the flow's end, in milliseconds, at
  /// most 60000; default 0.
  public var waitMs: Int?

  public init(
    provider: ProviderName, kind: String, params: JSONValue, requestId: String? = nil,
    waitMs: Int? = nil
  ) {
    self.provider = provider
    self.kind = kind
    self.params = params
    self.requestId = requestId
    self.waitMs = waitMs
  }

  public typealias Reply = FlowReply

  public static let example = MethodExample(
    [
      "provider": "work", "kind": "authorize", "params": ["scope": "openid email"],
      "waitMs": 15000,
    ],
    returns: ["flow": .exampleFlow])

  public static let memberComponents: [String: String] = ["params": "FlowParams"]
}

extension FlowStart {
  /// The call of the provider's API that the flow is to make, as `METHOD:/path` without the query;
  /// nil if the parameters name none. The policy decides by it; the flow validates its parameters
  /// itself.
  package var operation: String? {
    guard let method = params["method"]?.stringValue, let path = params["path"]?.stringValue else {
      return nil
    }
    return Self.operation(method: method, path: path)
  }

  package static func operation(method: String, path: String) -> String {
    "\(method):\(path.prefix { $0 != "?" })"
  }
}
