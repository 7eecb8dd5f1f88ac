/// The reply of the methods that start, answer, cancel or return one flow.
public struct FlowReply: Codable, Sendable, Equatable {
  /// The flow after the call.
  public var flow: Flow

  public init(flow: Flow) { self.flow = flow }
}

extension FlowReply: SchemaDocumented {
  public static let memberDescriptions = ["flow": "The flow after the call."]
}
