import ArgumentParser

struct TokenVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Get and manage access tokens.",
    subcommands: [TokenGetVerb.self, TokenListVerb.self, TokenRevokeVerb.self])
}
