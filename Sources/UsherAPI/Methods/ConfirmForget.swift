import JSONRPC
public import UsherCore

/// Removes a remembered answer, so that the next such call of the client is asked about again.
///
/// Fails with `not_found` if there is no such answer or the caller could not have given it, and
/// with `interaction_required` under the same condition as ``ConfirmAnswer``.
public struct ConfirmForget: Method, Equatable {
  public static let name = "confirm.forget"
  public static let traits = MethodTraits(access: .app, audit: .everything)
  public static let subject = Subject<Self>.method
  public static let summary = "Removes a remembered answer, so that the next such call asks again."
  public static let discussion = """
    Fails with `not_found` if there is no such answer or the caller could not have given it, and \
    with `interaction_required` under the same condition as `confirm.answer`.
    """

  /// The id of the question that the answer belongs to.
  public var answer: ConfirmationID

  public init(answer: ConfirmationID) { self.answer = answer }

  public static let example = MethodExample(["answer": "cnf_1"], returns: [:])
}
