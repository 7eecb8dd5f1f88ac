import ArgumentParser
import UsherClient

struct ConfirmDenyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "deny", abstract: "Refuse a call: such calls are not permitted.",
    discussion: "By default the answer holds for a minute.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var socket: ConfirmSocket
  @OptionGroup var span: AnswerSpan

  @Argument(help: ArgumentHelp("The question's id; see usherctl confirm list.", valueName: "id"))
  var question: String

  func run(at context: CommandContext) async throws {
    try await context.answer(question, false, span.remember, on: socket.client(context))
  }
}
