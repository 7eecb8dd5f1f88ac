/// The reply of the methods that start, answer, cancel or return one flow.
public struct FlowReply: Codable, Sendable, Equatable, SchemaDocumented {
  /// The flow after the call.
  public var flow: Flow

  public init(flow: Flow) { self.flow = flow }
}
