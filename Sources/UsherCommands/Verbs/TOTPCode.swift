import ArgumentParser
import UsherClient

struct TOTPCodeVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "code", abstract: "Print an account's one-time code and how long it is valid.",
    discussion: "The code goes to standard output, the remaining time to standard error.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var which: AccountChoice

  func run(at context: CommandContext) async throws {
    let method = TOTPCode(account: which.account, provider: which.provider)
    try await context.show(method) { reply in
      let code = reply.code.secret
      guard code.revealed().utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
        throw CommandFailure("the code from usherd has characters other than digits")
      }
      context.console.reveal(code)
      let left = reply.expiresAt - context.environment.clock.now()
      context.console.printMessage(left > .zero ? "valid for another \(left.text)" : "expired")
    }
  }
}
