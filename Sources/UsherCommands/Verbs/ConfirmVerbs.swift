import ArgumentParser
import UsherClient

struct ConfirmVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "confirm", abstract: "Agree to what programs want to do, or refuse.",
    discussion: """
      A rule of the configuration can ask for it. Without a command, the open questions are listed, \
      and on a terminal each is asked about.

      You answer those of your own programs, for which you have to prove to be there, and those that \
      a rule names. With --admin everybody's are answered, on the admin socket.
      """,
    subcommands: [
      ConfirmAskVerb.self, ConfirmListVerb.self, ConfirmAllowVerb.self, ConfirmDenyVerb.self,
      ConfirmForgetVerb.self,
    ], defaultSubcommand: ConfirmAskVerb.self)
}

/// The option that selects the socket for answers.
struct ConfirmSocket: ParsableArguments {
  @Flag(help: "Everybody's, on the admin socket.")
  var admin = false

  func client(_ context: CommandContext) -> UsherClient { admin ? context.admin : context.app }
}
