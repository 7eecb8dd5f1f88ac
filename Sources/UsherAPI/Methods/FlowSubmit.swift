public import JSONRPC
public import UsherCore

/// Answers the current step of a flow.
public struct FlowSubmit: Method, Equatable {
  public static let name = "flow.submit"
  public static let traits = MethodTraits(access: .app, followsFlowStart: true)
  public static let summary = "Answer the current step of a flow."
  /// Enough for an access token, a refresh token and an ID token of 64 KiB each.
  public static let ownParamsBytes = 262_144

  public var flow: FlowID
  /// The flow's revision that the input answers. If the flow has another revision, the call fails
  /// with `conflict` and changes nothing.
  public var revision: Int
  /// The input, an object in the form of ``FlowInput``. Its member `type` is the type of the step.
  public var input: JSONValue
  /// The same as ``FlowStart/waitMs``.
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

// The description leaves out the input, which may be a password.
extension FlowSubmit: CustomStringConvertible, CustomReflectable {
  public var description: String { "answer to \(flow) at revision \(revision)" }
  public var customMirror: Mirror { Mirror(self, children: ["flow": flow, "revision": revision]) }
}
