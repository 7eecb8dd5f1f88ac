import ArgumentParser

struct ConsentVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "consent", abstract: "Manage what programs may know about you.",
    subcommands: [ConsentListVerb.self, ConsentRevokeVerb.self])
}
