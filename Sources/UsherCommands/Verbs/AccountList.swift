import ArgumentParser
import UsherClient

struct AccountListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List your accounts.")

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only accounts at this provider.")
  var provider: ProviderName?

  func run(at context: CommandContext) async throws {
    try await context.show(AccountList(provider: provider)) { reply in
      context.console.table(
        ["ACCOUNT", "PROVIDER", "LABEL", "CREATED", "TOKENS"],
        reply.accounts.map { account in
          [
            "\(account.id)", "\(account.provider)", account.label, "\(account.createdAt)",
            account.tokens.map(\.status.rawValue).joined(separator: ", "),
          ]
        }, none: "no accounts")
    }
  }
}
