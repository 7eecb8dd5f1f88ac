public import UsherCore

/// Answer a client's question: whether it may make a call.
///
/// `not_found` where there is no such question, where its time is over, and for who may not answer it;
/// `conflict` where it has been answered; `interaction_required` with the flow to start where the
/// person at this machine has to prove to be there.
public struct ConfirmAnswer: Method, Equatable {
  public static let name = "confirm.answer"
  public static let traits = MethodTraits(access: .app, audit: .everything)
  public static let summary = "Answer a client's question: whether it may make a call."
  public typealias Reply = Done

  public var confirmation: ConfirmationID
  public var allow: Bool
  /// For how long the answer holds; default: once.
  public var remember: Remember?

  public init(confirmation: ConfirmationID, allow: Bool, remember: Remember? = nil) {
    self.confirmation = confirmation
    self.allow = allow
    self.remember = remember
  }
}
