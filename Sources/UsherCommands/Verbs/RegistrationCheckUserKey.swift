import ArgumentParser
import UsherClient

struct RegistrationCheckUserKeyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check-user-key", abstract: "Check whether a user key is free.",
    discussion: "Prints \"taken\" or \"free\".")

  @OptionGroup var options: GlobalOptions

  @Option(help: ArgumentHelp("The provider, of type bsa.", valueName: "name"))
  var provider: ProviderName

  @Argument(help: "The user key.")
  var userKey: String

  func run(at context: CommandContext) async throws {
    let method = RegistrationCheckUserKey(provider: provider, userKey: userKey)
    try await context.show(method) { context.console.print($0.available ? "free" : "taken") }
  }
}
