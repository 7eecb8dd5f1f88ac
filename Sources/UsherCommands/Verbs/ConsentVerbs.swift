import ArgumentParser
import UsherClient

struct ConsentVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "consent", abstract: "Manage what programs may know about you.",
    subcommands: [ConsentListVerb.self, ConsentRevokeVerb.self])
}

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

struct ConsentRevokeVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revoke consents; data that no consent covers any more is wiped.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider: all your accounts there.")
  var provider: ProviderName?

  @Option(help: ArgumentHelp("Only consents for this account.", valueName: "id"))
  var account: AccountID?

  @Option(
    help: ArgumentHelp(
      "Only consents of this program; see usherctl consent list.", valueName: "name"))
  var client: String?

  @Option(help: ArgumentHelp("Only this grant, such as read.email.", valueName: "grant"))
  var grant: String?

  func validate() throws {
    guard provider != nil || account != nil else {
      throw ValidationError("Name a provider, or an account with --account.")
    }
  }

  func run(at context: CommandContext) async throws {
    let method = ConsentRevoke(
      account: account, provider: provider, client: client, grant: grant)
    try await context.show(method) { reply in
      context.console.print("revoked \(reply.revoked.counting("consent"))")
    }
  }
}
