import ArgumentParser
import UsherClient

struct LocalAuthVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "local", abstract: "Manage fingerprint and passcode.",
    subcommands: [LocalAuthStatusVerb.self, LocalAuthPasscodeVerb.self])
}

struct LocalAuthStatusVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show whether a fingerprint and a passcode are set up.",
    discussion: "To enroll a finger, run fprintd-enroll.")

  @OptionGroup var options: GlobalOptions

  func run(at context: CommandContext) async throws {
    let now = context.environment.clock.now()
    try await context.show(LocalAuthStatus()) { status in
      context.console.printProperties([
        ("fingerprint", status.biometric.text(at: now)),
        ("passcode", status.passcode.text(at: now)),
      ])
    }
  }
}

extension LocalAuthStatus.Biometric {
  fileprivate func text(at now: Timestamp) -> String {
    switch state {
    case .ready: "ready, \((fingers ?? 0).counting("finger"))"
    case .noReader: "no reader"
    case .notEnrolled: "no finger enrolled"
    case .lockedOut: locked(until: lockedUntil, at: now)
    case .unavailable: message ?? "not available"
    }
  }
}

extension LocalAuthStatus.Passcode {
  fileprivate func text(at now: Timestamp) -> String {
    switch state {
    case .ready: "set"
    case .notEnrolled: "not set: usherctl local passcode"
    case .lockedOut: locked(until: lockedUntil, at: now)
    }
  }
}

private func locked(until end: Timestamp?, at now: Timestamp) -> String {
  guard let end, end > now else { return "locked" }
  return "locked for another \((end - now).text)"
}

struct LocalAuthPasscodeVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "passcode", abstract: "Set your passcode; asks for the old one first.",
    discussion: """
      On a terminal, asks for the new passcode twice and does not show it. Otherwise reads one \
      line each from standard input: the old passcode if there is one, then the new one.

      With --uid, replaces another user's passcode on the admin socket, without the old one.
      """)

  @OptionGroup var options: GlobalOptions

  @Option(help: ArgumentHelp("Replace this user's passcode.", valueName: "number"))
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
        throw CommandFailure("the two passcodes differ; nothing has changed")
      }
    }
    let method = LocalAuthSetPasscode(
      old: old.map { WireSecret($0) }, new: WireSecret(new), uid: uid)
    try await context.show(method, on: client) { _ in
      context.console.printMessage("the passcode is set")
    }
  }
}
