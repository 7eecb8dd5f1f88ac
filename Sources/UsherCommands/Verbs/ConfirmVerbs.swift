import ArgumentParser
import UsherClient

struct ConfirmVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "confirm", abstract: "Allow or refuse calls that need your approval.",
    discussion: """
      A rule in the configuration can require approval. Without a subcommand, lists the open \
      questions; on a terminal, asks about each one.

      You answer the questions of your own programs, after you prove your presence with a finger \
      or your passcode, and those that a rule assigns to you. With --admin you answer the \
      questions of all users, on the admin socket.
      """,
    subcommands: [
      ConfirmAskVerb.self, ConfirmListVerb.self, ConfirmAllowVerb.self, ConfirmDenyVerb.self,
      ConfirmForgetVerb.self,
    ], defaultSubcommand: ConfirmAskVerb.self)
}

/// The option that selects the socket on which questions are listed and answered.
struct ConfirmSocket: ParsableArguments {
  @Flag(help: "The questions of all users, on the admin socket.")
  var admin = false

  func client(_ context: CommandContext) -> UsherClient { admin ? context.admin : context.app }
}
