import ArgumentParser
import UsherAPI
import UsherCore

struct RegistrationCheckDuplicateVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check-duplicate",
    abstract: "Whether somebody has an e-mail address or a phone number already.",
    discussion: "Prints \"taken\" or \"free\".")

  @OptionGroup var options: GlobalOptions

  @Option(help: ArgumentHelp("The provider, of type bsa.", valueName: "name"))
  var provider: String

  @Option(help: ArgumentHelp("This e-mail address.", valueName: "address"))
  var email: String?

  @Option(help: ArgumentHelp("This phone number.", valueName: "number"))
  var phone: String?

  func validate() throws {
    guard (email == nil) != (phone == nil) else {
      throw ValidationError("Name an address by --email, or a number by --phone.")
    }
  }

  func run(at context: CommandContext) async throws {
    let method = RegistrationCheckDuplicate(
      provider: ProviderName(provider), verifyType: phone == nil ? .email : .phoneNumber,
      verifyData: phone ?? email ?? "")
    try await context.show(method) { context.console.say($0.duplicate ? "taken" : "free") }
  }
}
