public import JSONRPC
public import UsherCore

/// Answer a flow's step.
public struct FlowSubmit: Method, Equatable {
  public static let name = "flow.submit"
  public static let traits = MethodTraits(access: .app, followsFlowStart: true)
  public static let summary = "Answer a flow's step."
  /// An access, a refresh and an ID token of 64 KiB each.
  public static let ownParamsBytes = 262_144

  public var flow: FlowID
  /// The revision it answers; another one gives `conflict` and changes nothing.
  public var revision: Int
  /// `type` equals the step's type (RPC.md § Objects).
  public var input: JSONValue
  /// As in `flow.start`.
  public var waitMs: Int?

  public init(flow: FlowID, revision: Int, input: JSONValue, waitMs: Int? = nil) {
    self.flow = flow
    self.revision = revision
    self.input = input
    self.waitMs = waitMs
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var flow: Flow

    public init(flow: Flow) {
      self.flow = flow
    }
  }
}

/// Prints without the input: it may be a password.
extension FlowSubmit: CustomStringConvertible, CustomReflectable {
  public var description: String { "answer to \(flow) at revision \(revision)" }
  public var customMirror: Mirror { Mirror(self, children: ["flow": flow, "revision": revision]) }
}
