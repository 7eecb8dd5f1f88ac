import ArgumentParser
import UsherClient

struct ConfirmForgetVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "forget", abstract: "Withdraw an answer: the next such call asks again.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var socket: ConfirmSocket

  @Argument(help: ArgumentHelp("The answer's id; see usherctl confirm list.", valueName: "id"))
  var answer: String

  func run(at context: CommandContext) async throws {
    let method = ConfirmForget(answer: ConfirmationID(answer))
    let (_, json) = try await context.callRunningRequiredFlow(method, on: socket.client(context))
    if context.printsJSON { return context.console.json(json) }
    context.console.printMessage("answer \(answer) withdrawn")
  }
}
