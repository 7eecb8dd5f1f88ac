import JSONRPC
public import UsherCore

/// Waits until a flow has a higher revision than the given one, or until the time is over.
public struct FlowWait: Method, Equatable {
  public static let name = "flow.wait"
  public static let traits = MethodTraits(access: .app, repetition: .always, followsFlowStart: true)
  public static let subject = Subject<Self>.flow(\.flow)
  public static let summary =
    "Waits until a flow has a higher revision than a given one, or the time is over."

  /// The id of the flow.
  public var flow: FlowID
  /// The revision that the caller knows. A flow with a higher one is returned at once.
  public var revision: Int
  /// The longest time to wait, in milliseconds, from 0 to 60000.
  public var timeoutMs: Int

  public init(flow: FlowID, revision: Int, timeoutMs: Int) {
    self.flow = flow
    self.revision = revision
    self.timeoutMs = timeoutMs
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The flow; unchanged if the time is over.
    public var flow: Flow
    /// The transitions of the flow since the given revision, the oldest first.
    public var transitions: [Transition]

    public init(flow: Flow, transitions: [Transition]) {
      self.flow = flow
      self.transitions = transitions
    }
  }

  public static let example = MethodExample(
    ["flow": "flw_1", "revision": 4, "timeoutMs": 30000],
    returns: [
      "flow": .exampleFinishedFlow,
      "transitions": [["revision": 5, "state": "exchanging", "at": .exampleTime]],
    ])
}
