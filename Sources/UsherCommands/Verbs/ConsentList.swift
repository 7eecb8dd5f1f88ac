import ArgumentParser
import UsherAPI
import UsherCore

struct ConsentListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Which program was granted what, and until when.",
    discussion: """
      A program is called as the rule of the configuration that matches it; (user) are all your \
      programs that no rule matches, usherctl among them.
      """)

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only this provider's.")
  var provider: String?

  @Option(help: ArgumentHelp("Only this account's.", valueName: "id"))
  var account: String?

  func run(at context: CommandContext) async throws {
    let method = ConsentList(
      account: account.map { AccountID($0) }, provider: provider.map { ProviderName($0) })
    try await context.show(method) { reply in
      context.console.table(
        ["ACCOUNT", "PROVIDER", "CLIENT", "GRANT", "GRANTED", "EXPIRES", "BY"],
        reply.consents.map { consent in
          [
            "\(consent.account)", "\(consent.provider)", consent.client, consent.grant,
            "\(consent.grantedAt)", "\(consent.expiresAt)", "uid \(consent.grantedBy)",
          ]
        })
      if reply.consents.isEmpty { context.console.note("no consents") }
    }
  }
}
