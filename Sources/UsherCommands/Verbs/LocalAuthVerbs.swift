import ArgumentParser

struct LocalAuthVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "local", abstract: "What this machine knows you by: fingers and a passcode.",
    subcommands: [LocalAuthStatusVerb.self, LocalAuthPasscodeVerb.self])
}
