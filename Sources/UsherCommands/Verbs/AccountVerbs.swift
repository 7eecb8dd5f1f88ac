import ArgumentParser

struct AccountVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account", abstract: "What sign-ins left behind.",
    subcommands: [AccountListVerb.self, AccountShowVerb.self, AccountForgetVerb.self])
}
