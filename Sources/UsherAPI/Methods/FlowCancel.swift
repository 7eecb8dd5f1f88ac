public import UsherCore

/// Cancels a flow that has not finished.
///
/// Cancelling twice, or cancelling a finished flow, succeeds and changes nothing.
public struct FlowCancel: Method, Equatable {
  public static let name = "flow.cancel"
  public static let traits = MethodTraits(access: .app, repetition: .always, followsFlowStart: true)
  public static let summary =
    "Cancel a flow; a finished flow is unchanged."

  public var flow: FlowID

  public init(flow: FlowID) {
    self.flow = flow
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var flow: Flow

    public init(flow: Flow) {
      self.flow = flow
    }
  }
}
