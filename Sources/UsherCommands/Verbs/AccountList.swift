import ArgumentParser
import UsherAPI
import UsherCore

struct AccountListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Your accounts.")

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only this provider's.")
  var provider: String?

  func run(at desk: Desk) async throws {
    try await desk.show(AccountList(provider: provider.map { ProviderName($0) })) { reply in
      desk.console.table(
        ["ACCOUNT", "PROVIDER", "LABEL", "CREATED", "TOKENS"],
        reply.accounts.map { account in
          [
            "\(account.id)", "\(account.provider)", account.label, "\(account.createdAt)",
            account.tokens.map(\.status.rawValue).joined(separator: ", "),
          ]
        })
      if reply.accounts.isEmpty { desk.console.note("no accounts") }
    }
  }
}
