import ArgumentParser
import UsherAPI
import UsherCore

struct ConsentRevokeVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Take back what programs were granted; what nobody may know any more is wiped.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider: all your accounts of it.")
  var provider: String?

  @Option(help: ArgumentHelp("Only of this account.", valueName: "id"))
  var account: String?

  @Option(help: ArgumentHelp("Only this program's; see usherctl consent list.", valueName: "name"))
  var client: String?

  @Option(help: ArgumentHelp("Only this one, such as read.email.", valueName: "grant"))
  var grant: String?

  func validate() throws {
    guard provider != nil || account != nil else {
      throw ValidationError("Name a provider, or an account by --account.")
    }
  }

  func run(at context: CommandContext) async throws {
    let method = ConsentRevoke(
      account: account.map { AccountID($0) }, provider: provider.map { ProviderName($0) },
      client: client, grant: grant)
    try await context.show(method) { reply in
      let isOne = reply.revoked == 1
      context.console.say("revoked \(reply.revoked) \(isOne ? "consent" : "consents")")
    }
  }
}
