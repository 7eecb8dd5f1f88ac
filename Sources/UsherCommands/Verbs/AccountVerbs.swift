import ArgumentParser

struct AccountVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account", abstract: "Manage signed-in accounts.",
    subcommands: [AccountListVerb.self, AccountShowVerb.self, AccountForgetVerb.self])
}
