import ArgumentParser

struct ConsentVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "consent", abstract: "What programs may know of you.",
    subcommands: [ConsentListVerb.self, ConsentRevokeVerb.self])
}
