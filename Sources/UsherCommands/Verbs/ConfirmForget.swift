import ArgumentParser
import UsherClient

struct ConfirmForgetVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "forget", abstract: "Withdraw an answer: the next such call asks again.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var socket: ConfirmSocket

  @Argument(help: ArgumentHelp("The answer's id; see usherctl confirm list.", valueName: "id"))
  var answer: ConfirmationID

  func run(at context: CommandContext) async throws {
    let method = ConfirmForget(answer: answer)
    try await context.showRunningRequiredFlow(method, on: socket.client(context)) { _ in
      context.console.printMessage("answer \(answer) withdrawn")
    }
  }
}
