import ArgumentParser
import UsherAPI
import UsherClient
import UsherCore

struct TOTPCodeVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "code",
    abstract: "Print the one-time code of an account, and beside it how long it is good.",
    discussion: "The time goes to standard error: for scripts, the code is all there is.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var which: AccountChoice

  func run(at context: CommandContext) async throws {
    let (account, provider) = which.names
    let (reply, json) = try await context.app.answer(
      to: TOTPCode(account: account, provider: provider))
    if context.printsJSON { return context.console.json(json) }
    let code = reply.code.secret
    guard code.revealed().utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw Failure("usherd's code holds characters that no code may have")
    }
    context.console.reveal(code)
    let left = reply.expiresAt - context.environment.clock.now()
    context.console.note(left > .zero ? "good for another \(left.words)" : "its time is over")
  }
}
