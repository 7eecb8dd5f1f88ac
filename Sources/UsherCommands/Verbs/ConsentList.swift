import ArgumentParser
import UsherClient

struct ConsentListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List what each program was granted, and until when.",
    discussion: """
      A program is listed under the name of the configuration rule that matches it; (user) means \
      all your programs that no rule matches, including usherctl.
      """)

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only consents at this provider.")
  var provider: ProviderName?

  @Option(help: ArgumentHelp("Only consents for this account.", valueName: "id"))
  var account: AccountID?

  func run(at context: CommandContext) async throws {
    try await context.show(ConsentList(account: account, provider: provider)) { reply in
      context.console.table(
        ["ACCOUNT", "PROVIDER", "CLIENT", "GRANT", "GRANTED", "EXPIRES", "BY"],
        reply.consents.map { consent in
          [
            "\(consent.account)", "\(consent.provider)", consent.client, consent.grant,
            "\(consent.grantedAt)", "\(consent.expiresAt)", "uid \(consent.grantedBy)",
          ]
        }, none: "no consents")
    }
  }
}
