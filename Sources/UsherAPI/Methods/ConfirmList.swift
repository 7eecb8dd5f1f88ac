import JSONRPC

/// Returns the open questions about clients' calls, and the remembered answers.
///
/// A caller sees the questions that it may answer, even if answering needs a local authentication
/// first. The admin socket shows all questions and answers.
public struct ConfirmList: Method, Equatable {
  public static let name = "confirm.list"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let subject = Subject<Self>.method
  public static let summary =
    "Returns the open questions about clients' calls, and the remembered answers."
  public static let discussion = """
    A caller sees the questions that it may answer, even if answering needs a local authentication \
    first. The admin socket shows all questions and answers.
    """

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The open questions, the oldest first.
    public var questions: [Confirmation]
    /// The remembered answers that are still valid, the oldest first.
    public var answers: [Confirmation.Answer]

    public init(questions: [Confirmation], answers: [Confirmation.Answer]) {
      self.questions = questions
      self.answers = answers
    }
  }

  public static let example = MethodExample(
    [:], returns: ["questions": [.exampleConfirmation], "answers": []])
}
