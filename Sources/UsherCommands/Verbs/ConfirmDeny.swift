import ArgumentParser
import UsherAPI
import UsherCore

struct ConfirmDenyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "deny", abstract: "Refuse: such calls are not permitted.",
    discussion: "For a minute, where nothing else is said.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var socket: ConfirmSocket
  @OptionGroup var span: AnswerSpan

  @Argument(help: ArgumentHelp("The question; see usherctl confirm list.", valueName: "id"))
  var question: String

  func run(at context: CommandContext) async throws {
    try await context.answer(question, false, span.remember, on: socket.client(context))
  }
}
