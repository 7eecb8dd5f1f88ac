import ArgumentParser
import UsherClient

struct TOTPVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "totp", abstract: "Get one-time codes, as an authenticator app shows them.",
    subcommands: [TOTPCodeVerb.self, TOTPListVerb.self])
}

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

struct TOTPListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List your accounts that have one-time codes.")

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only accounts at this provider.")
  var provider: ProviderName?

  func run(at context: CommandContext) async throws {
    try await context.show(TOTPList(provider: provider)) { reply in
      context.console.table(
        ["ACCOUNT", "PROVIDER", "LABEL", "DIGITS", "PERIOD"],
        reply.accounts.map { entry in
          [
            "\(entry.account)", "\(entry.provider)", entry.label, "\(entry.digits)",
            "\(entry.periodSeconds) s",
          ]
        }, none: "no accounts with one-time codes")
    }
  }
}
