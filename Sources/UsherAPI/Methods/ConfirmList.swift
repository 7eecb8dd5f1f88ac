/// The questions of clients that a person has to answer, and the answers that are remembered.
///
/// A caller is shown what it may answer; what wants a local authentication is shown before there was
/// one. On the admin socket everything is shown.
public struct ConfirmList: Method, Equatable {
  public static let name = "confirm.list"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let summary =
    "The questions of clients that a person has to answer, and the answers that are remembered."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable {
    /// Those that are open, the oldest first.
    public var questions: [Confirmation]
    /// Those that hold, the oldest first.
    public var answers: [Confirmation.Answer]

    public init(questions: [Confirmation], answers: [Confirmation.Answer]) {
      self.questions = questions
      self.answers = answers
    }
  }
}
