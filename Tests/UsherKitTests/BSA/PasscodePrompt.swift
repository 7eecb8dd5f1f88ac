import UsherKit

/// Asks for a fingerprint or a passcode in a terminal.
final class PasscodePrompt: BSA.LocalAuth.Prompt {
  /// Shows a question and returns the typed line without echoing it; nil at the end of the input.
  private let askHidden: @Sendable (_ question: String) async -> String?

  init(askHidden: @escaping @Sendable (_ question: String) async -> String?) {
    self.askHidden = askHidden
  }

  func answer(_ question: BSA.LocalAuth.Question) async -> BSA.LocalAuth.Answer {
    if let problem = question.problem { print(problem) }
    if question.isScanning {
      print("\(question.reason): touch the fingerprint reader")
      return .stay
    }
    guard question.takesPasscode else { return .scan }
    return await askHidden("\(question.reason): passcode").map { .passcode($0) } ?? .cancel
  }
}
