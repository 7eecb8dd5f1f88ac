import ArgumentParser
import UsherClient

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
