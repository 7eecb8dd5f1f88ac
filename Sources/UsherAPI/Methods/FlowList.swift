import JSONRPC
public import UsherCore

/// Returns the caller's unfinished flows, and those that finished within
/// `limits.finished_flow_hours`, by default 24.
public struct FlowList: Method, Equatable {
  public static let name = "flow.list"
  public static let traits = MethodTraits(access: .app, repetition: .always, followsFlowStart: true)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary =
    "Returns the caller's unfinished flows, and those that finished recently."
  public static let discussion = """
    Finished flows are listed for `limits.finished_flow_hours`, by default 24. Each filter that is \
    given must match.
    """

  // A flow is returned if it matches each filter that is given.
  /// Returns only the flows of this provider.
  public var provider: ProviderName?
  /// Returns only the flows of this kind.
  public var kind: String?
  /// Returns only the flows with this key.
  public var key: String?
  /// Returns only the flows with this status.
  public var status: FlowStatus?

  public init(
    provider: ProviderName? = nil, kind: String? = nil, key: String? = nil,
    status: FlowStatus? = nil
  ) {
    self.provider = provider
    self.kind = kind
    self.key = key
    self.status = status
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The flows, the newest first. Steps and results are left out, because they may contain
    /// secrets.
    public var flows: [Flow]

    public init(flows: [Flow]) { self.flows = flows }
  }

  public static let example = MethodExample(
    ["provider": "work", "status": "active"], returns: ["flows": [.exampleListedFlow]])
}
