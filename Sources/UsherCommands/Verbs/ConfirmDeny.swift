import ArgumentParser

struct ConfirmDenyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "deny", abstract: "Refuse a call: such calls are not permitted.",
    discussion: "By default the answer holds for a minute.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var answer: AnswerOptions

  func run(at context: CommandContext) async throws { try await answer.submit(false, in: context) }
}
