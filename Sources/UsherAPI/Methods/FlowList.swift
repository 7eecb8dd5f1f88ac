public import UsherCore

/// The caller's flows, live ones and those that ended within the last day.
public struct FlowList: Method, Equatable {
  public static let name = "flow.list"
  public static let traits = MethodTraits(access: .app, repetition: .always, followsFlowStart: true)
  public static let summary =
    "The caller's flows, live ones and those that ended within the last day."

  // Each that is there narrows the list.
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
    /// Newest first, without their steps and results: those may hold secrets.
    public var flows: [Flow]

    public init(flows: [Flow]) {
      self.flows = flows
    }
  }
}
