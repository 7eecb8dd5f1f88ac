import ArgumentParser
import UsherClient

struct ConsentListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List what each program was granted, and until when.",
    discussion: """
      A program is listed under the name of the configuration rule that matches it; (user) means \
      all your programs that no rule matches, including usherctl.
      """)

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only consents at this provider.")
  var provider: String?

  @Option(help: ArgumentHelp("Only consents for this account.", valueName: "id"))
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
      if reply.consents.isEmpty { context.console.printMessage("no consents") }
    }
  }
}
