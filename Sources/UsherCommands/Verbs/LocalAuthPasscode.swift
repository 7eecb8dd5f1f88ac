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

  func run(at desk: Desk) async throws {
    let client = uid == nil ? desk.app : desk.admin
    var old: Secret?
    if uid == nil, try await client.call(LocalAuthStatus()).passcode.state != .notEnrolled {
      old = try await read("old passcode", desk.console)
    }
    let new = try await read("new passcode", desk.console)
    if desk.console.isInteractive {
      guard try await read("new passcode once more", desk.console) == new else {
        throw Failure("these are two different passcodes; nothing has changed")
      }
    }
    let method = LocalAuthSetPasscode(
      old: old.map { WireSecret($0) }, new: WireSecret(new), uid: uid)
    try await desk.show(method, on: client) { _ in desk.console.note("the passcode is set") }
  }

  private func read(_ name: String, _ console: Console) async throws -> Secret {
    if console.isInteractive { console.prompt("\(name) (not shown): ") }
    guard let line = try await console.readLine(echo: false) else {
      throw Failure("the \(name) is missing: the input has ended")
    }
    return Secret(line.hasSuffix("\r") ? String(line.dropLast()) : line)
  }
}
