import ArgumentParser

struct RegistrationVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "registration", abstract: "Check registrations at a provider.",
    discussion: "The provider's configuration must allow it: registration_checks = true.",
    subcommands: [RegistrationCheckDuplicateVerb.self, RegistrationCheckUserKeyVerb.self])
}
