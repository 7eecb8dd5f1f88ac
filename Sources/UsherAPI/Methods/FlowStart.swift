public import JSONRPC
public import UsherCore

/// Begin a flow of a provider.
public struct FlowStart: Method, Equatable {
  public static let name = "flow.start"
  public static let traits = MethodTraits(
    access: .app, repetition: .ifGiven("requestId"), audit: .everything, isConfirmable: true)
  public static let summary = "Begin a flow of a provider."

  public var provider: ProviderName
  public var kind: String
  /// By the flow's schema (`provider.get`).
  public var params: JSONValue
  /// Unique per owner and provider; remembered past the flow's end.
  public var requestId: String?
  /// Answer at the first step that is not `wait`, the end, or after this long; at most 60000.
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

  public struct Reply: Codable, Sendable, Equatable {
    public var flow: Flow

    public init(flow: Flow) {
      self.flow = flow
    }
  }
}

extension FlowStart {
  /// `METHOD:/path` of the call of the provider's API that the flow is to make, without its query;
  /// nil where it makes none. For the policy: the flow itself is as strict as it likes.
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
