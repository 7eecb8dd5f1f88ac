import ArgumentParser

struct CredentialVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credential", abstract: "Provider credentials, kept sealed.",
    discussion: "Asks on the admin socket.",
    subcommands: [CredentialSetVerb.self, CredentialListVerb.self, CredentialDeleteVerb.self])
}
