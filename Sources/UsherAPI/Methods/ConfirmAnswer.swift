import JSONRPC
public import UsherCore

/// Answers the question to a person whether a client may make a call.
///
/// Fails with `not_found` if the question does not exist, has expired, or is not the caller's to
/// answer; with `conflict` if it has been answered; with `interaction_required` and the flow to
/// start if the user must first prove presence at this machine.
public struct ConfirmAnswer: Method, Equatable {
  public static let name = "confirm.answer"
  public static let traits = MethodTraits(access: .app, audit: .everything)
  public static let subject = Subject<Self>.method
  public static let summary = "Answers the question whether a client may make a call."
  public static let discussion = """
    Fails with `not_found` if the question does not exist, has expired, or is not the caller's to \
    answer; with `conflict` if it has been answered; with `interaction_required` and the flow to \
    start if the user must first prove presence at this machine.
    """

  /// The id of the question.
  public var confirmation: ConfirmationID
  /// Whether the client may make the call.
  public var allow: Bool
  /// How long the answer is valid; default `once`, which is the only value for a question about an
  /// operation (`about.operation`).
  public var remember: Remember?

  public init(confirmation: ConfirmationID, allow: Bool, remember: Remember? = nil) {
    self.confirmation = confirmation
    self.allow = allow
    self.remember = remember
  }

  public static let example = MethodExample(
    ["confirmation": "cnf_1", "allow": true, "remember": "once"], returns: [:])
}
