public import UsherCore

/// Take an answer back: the next such call is a question again.
///
/// `not_found` where no such answer is remembered, and for who may not have given it;
/// `interaction_required` as ``ConfirmAnswer`` has it.
public struct ConfirmForget: Method, Equatable {
  public static let name = "confirm.forget"
  public static let traits = MethodTraits(access: .app, audit: .everything)
  public static let summary = "Take an answer back: the next such call is a question again."
  public typealias Reply = Done

  /// The id of the question it answered.
  public var answer: ConfirmationID

  public init(answer: ConfirmationID) { self.answer = answer }
}
