import ArgumentParser
import UsherClient

struct TokenListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List your tokens, without their values.")

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only tokens of this provider.")
  var provider: ProviderName?

  @Option(help: ArgumentHelp("Only tokens of this account.", valueName: "id"))
  var account: AccountID?

  func run(at context: CommandContext) async throws {
    try await context.show(TokenList(account: account, provider: provider)) { reply in
      context.console.table(
        ["ACCOUNT", "PROVIDER", "STATUS", "EXPIRES", "AUDIENCE", "SCOPE"],
        reply.tokens.map { entry in
          [
            "\(entry.account)", "\(entry.provider)", entry.token.status.rawValue,
            entry.token.expiresAt.map { "\($0)" } ?? "", entry.token.audience ?? "",
            entry.token.scope,
          ]
        }, none: "no tokens")
    }
  }
}
