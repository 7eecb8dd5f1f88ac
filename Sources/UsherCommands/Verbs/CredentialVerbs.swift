import ArgumentParser

struct CredentialVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credential", abstract: "Manage stored provider credentials.",
    discussion: "Uses the admin socket.",
    subcommands: [CredentialSetVerb.self, CredentialListVerb.self, CredentialDeleteVerb.self])
}
