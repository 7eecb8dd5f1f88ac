public import JSONRPC
public import UsherCore

/// Answers the current step of a flow.
public struct FlowSubmit: Method, Equatable {
  public static let name = "flow.submit"
  public static let traits = MethodTraits(access: .app, followsFlowStart: true)
  public static let subject = Subject<Self>.flow(\.flow)
  public static let summary = "Answers the current step of a flow."
  public static let discussion = """
    An input of another type than the step gives `unexpected_input`, a malformed one \
    `invalid_input` with the member as `field`; neither changes the flow. An input that the \
    provider refuses, such as a wrong code, is no error: the flow stays at the step and says so in \
    `problem`. Never repeat the call after a lost connection: read the flow instead.
    """
  /// The limit for the parameters: enough for an access token, a refresh token and an ID token of
  /// 64 KiB each.
  public static let ownParamsBytes = 262_144

  /// The id of the flow.
  public var flow: FlowID
  /// The revision of the flow whose step the input answers. If the flow has another revision, the
  /// call fails with `conflict` and changes nothing.
  public var revision: Int
  /// The input. Its member `type` is the type of the step that it answers.
  public var input: JSONValue
  /// How long the reply waits for a step other than `wait` or the flow's end, in milliseconds, at
  /// most 60000; default 0.
  public var waitMs: Int?

  public init(flow: FlowID, revision: Int, input: JSONValue, waitMs: Int? = nil) {
    self.flow = flow
    self.revision = revision
    self.input = input
    self.waitMs = waitMs
  }

  public typealias Reply = FlowReply

  public static let example = MethodExample(
    [
      "flow": "flw_1", "revision": 4,
      "input": [
        "type": "openURL", "redirectURL": "http://127.0.0.1:40001/callback?code=c&state=s",
      ], "waitMs": 15000,
    ],
    returns: ["flow": .exampleFinishedFlow])

  public static let memberComponents: [String: String] = ["input": "StepInput"]
}

// The description leaves out the input, which may be a password.
extension FlowSubmit: CustomStringConvertible, CustomReflectable {
  public var description: String { "answer to \(flow) at revision \(revision)" }
  public var customMirror: Mirror { Mirror(self, children: ["flow": flow, "revision": revision]) }
}
