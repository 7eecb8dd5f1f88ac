import ArgumentParser

struct LocalAuthVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "local", abstract: "Manage fingerprint and passcode.",
    subcommands: [LocalAuthStatusVerb.self, LocalAuthPasscodeVerb.self])
}
