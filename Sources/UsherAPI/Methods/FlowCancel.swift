import JSONRPC
public import UsherCore

/// Cancels a flow that has not finished.
///
/// Cancelling twice, or cancelling a finished flow, succeeds and changes nothing.
public struct FlowCancel: Method, Equatable {
  public static let name = "flow.cancel"
  public static let traits = MethodTraits(access: .app, repetition: .always, followsFlowStart: true)
  public static let subject = Subject<Self>.flow(\.flow)
  public static let summary = "Cancels a flow that has not finished."
  public static let discussion =
    "Cancelling twice, or cancelling a finished flow, succeeds and changes nothing."

  /// The id of the flow.
  public var flow: FlowID

  public init(flow: FlowID) { self.flow = flow }

  public typealias Reply = FlowReply

  public static let example = MethodExample(
    ["flow": "flw_1"], returns: ["flow": .exampleCancelledFlow])
}
