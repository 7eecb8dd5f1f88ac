public import UsherCore

/// Returns the caller's unfinished flows, and those that finished within
/// `limits.finished_flow_hours`, by default 24.
public struct FlowList: Method, Equatable {
  public static let name = "flow.list"
  public static let traits = MethodTraits(access: .app, repetition: .always, followsFlowStart: true)
  public static let summary =
    "List the caller's flows: live ones, and those that ended within the last day."

  // Each filter that is given must match.
  public var provider: ProviderName?
  public var kind: String?
  public var key: String?
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

  public struct Reply: Codable, Sendable, Equatable {
    /// The flows, the newest first. Steps and results are left out, because they may contain
    /// secrets.
    public var flows: [Flow]

    public init(flows: [Flow]) {
      self.flows = flows
    }
  }
}
