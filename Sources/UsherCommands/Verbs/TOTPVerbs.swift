import ArgumentParser

struct TOTPVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "totp", abstract: "Get one-time codes, as an authenticator app shows them.",
    subcommands: [TOTPCodeVerb.self, TOTPListVerb.self])
}
