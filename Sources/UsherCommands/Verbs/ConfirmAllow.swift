import ArgumentParser
import UsherClient

struct ConfirmAllowVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "allow", abstract: "Allow a call: it succeeds when the program repeats it.",
    discussion: "By default the answer is for the next such call within 5 minutes.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var socket: ConfirmSocket
  @OptionGroup var span: AnswerSpan

  @Argument(help: ArgumentHelp("The question's id; see usherctl confirm list.", valueName: "id"))
  var question: String

  func run(at context: CommandContext) async throws {
    try await context.answer(question, true, span.remember, on: socket.client(context))
  }
}
