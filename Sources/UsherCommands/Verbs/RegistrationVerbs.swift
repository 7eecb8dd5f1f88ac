import ArgumentParser
import UsherClient

struct RegistrationVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "registration", abstract: "Check registrations at a provider.",
    discussion: "The provider's configuration can forbid it: registration_checks = false.",
    subcommands: [RegistrationCheckDuplicateVerb.self, RegistrationCheckUserKeyVerb.self])
}

struct RegistrationCheckDuplicateVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check-duplicate",
    abstract: "Check whether an e-mail address or phone number is registered.",
    discussion: "Prints \"taken\" or \"free\".")

  @OptionGroup var options: GlobalOptions

  @Option(help: ArgumentHelp("The provider, of type bsa.", valueName: "name"))
  var provider: ProviderName

  @Option(help: ArgumentHelp("The e-mail address to check.", valueName: "address"))
  var email: String?

  @Option(help: ArgumentHelp("The phone number to check.", valueName: "number"))
  var phone: String?

  func validate() throws {
    guard (email == nil) != (phone == nil) else {
      throw ValidationError("Name an address with --email, or a number with --phone.")
    }
  }

  func run(at context: CommandContext) async throws {
    let method = RegistrationCheckDuplicate(
      provider: provider, verifyType: phone == nil ? .email : .phoneNumber,
      verifyData: phone ?? email ?? "")
    try await context.show(method) { context.console.print($0.duplicate ? "taken" : "free") }
  }
}

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
