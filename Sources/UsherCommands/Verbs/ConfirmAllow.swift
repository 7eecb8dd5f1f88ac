import ArgumentParser

struct ConfirmAllowVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "allow", abstract: "Allow a call: it succeeds when the program repeats it.",
    discussion: "By default the answer is for the next such call within 5 minutes.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var answer: AnswerOptions

  func run(at context: CommandContext) async throws { try await answer.submit(true, in: context) }
}
