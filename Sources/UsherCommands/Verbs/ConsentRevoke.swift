import ArgumentParser
import UsherClient

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
