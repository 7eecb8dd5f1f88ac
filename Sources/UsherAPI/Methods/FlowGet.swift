import JSONRPC
public import UsherCore

/// Returns one of the caller's flows.
public struct FlowGet: Method, Equatable {
  public static let name = "flow.get"
  public static let traits = MethodTraits(access: .app, repetition: .always, followsFlowStart: true)
  public static let subject = Subject<Self>.flow(\.flow)
  public static let summary = "Returns one of the caller's flows."

  /// The id of the flow.
  public var flow: FlowID

  public init(flow: FlowID) { self.flow = flow }

  public typealias Reply = FlowReply

  public static let example = MethodExample(["flow": "flw_1"], returns: ["flow": .exampleFlow])
}
