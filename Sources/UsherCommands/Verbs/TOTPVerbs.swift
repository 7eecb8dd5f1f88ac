import ArgumentParser

struct TOTPVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "totp", abstract: "One-time codes, as an authenticator shows them.",
    subcommands: [TOTPCodeVerb.self, TOTPListVerb.self])
}
