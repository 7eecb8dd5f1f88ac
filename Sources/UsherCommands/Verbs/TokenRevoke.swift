import ArgumentParser
import UsherAPI

struct TokenRevokeVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revoke an account's tokens at the provider; the account stays.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var which: AccountChoice

  func run(at context: CommandContext) async throws {
    let (account, provider) = which.names
    try await context.show(TokenRevoke(account: account, provider: provider)) { reply in
      context.console.print("deleted the tokens of \(reply.account)")
      for line in RevocationText(reply.revoked, reply.living, reply.retriedUntil).lines {
        context.console.printMessage(line)
      }
    }
  }
}
