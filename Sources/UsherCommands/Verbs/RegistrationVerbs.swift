import ArgumentParser

struct RegistrationVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "registration", abstract: "Who is registered at a provider already.",
    discussion: "The provider's configuration must allow it: registration_checks = true.",
    subcommands: [RegistrationCheckDuplicateVerb.self, RegistrationCheckUserKeyVerb.self])
}
