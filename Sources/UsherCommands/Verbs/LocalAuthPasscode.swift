import ArgumentParser
import UsherAPI
import UsherClient
import UsherCore

struct LocalAuthPasscodeVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "passcode", abstract: "Set your passcode; the old one is asked for first.",
    discussion: """
      On a terminal it is asked for twice and not shown. Otherwise it is read from standard input, \
      a line each: the old one where there is one, then the new one.

      With --uid another user's is set anew, on the admin socket; the old one is then not needed.
      """)

  @OptionGroup var options: GlobalOptions

  @Option(help: ArgumentHelp("Set this user's anew.", valueName: "number"))
  var uid: UInt32?

  func run(at context: CommandContext) async throws {
    let client = uid == nil ? context.app : context.admin
    var old: Secret?
    if uid == nil, try await client.call(LocalAuthStatus()).passcode.state != .notEnrolled {
      old = try await context.console.readPasscode("old passcode")
    }
    let new = try await context.console.readPasscode("new passcode")
    if context.console.isInteractive {
      guard try await context.console.readPasscode("new passcode once more") == new else {
        throw Failure("these are two different passcodes; nothing has changed")
      }
    }
    let method = LocalAuthSetPasscode(
      old: old.map { WireSecret($0) }, new: WireSecret(new), uid: uid)
    try await context.show(method, on: client) { _ in context.console.note("the passcode is set") }
  }
}
