import ArgumentParser

struct TokenVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Access tokens.",
    subcommands: [TokenGetVerb.self, TokenListVerb.self, TokenRevokeVerb.self])
}
