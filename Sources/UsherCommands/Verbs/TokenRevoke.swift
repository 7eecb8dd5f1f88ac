import ArgumentParser
import UsherAPI

struct TokenRevokeVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revoke an account's tokens at the provider; the account stays.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var which: AccountChoice

  func run(at context: CommandContext) async throws {
    let method = TokenRevoke(account: which.account, provider: which.provider)
    try await context.show(method) { reply in
      context.console.print("deleted the tokens of \(reply.account)")
      context.console.printRevocation(reply)
    }
  }
}
