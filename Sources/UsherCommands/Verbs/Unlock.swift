import ArgumentParser
import UsherClient

struct UnlockVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: "Unlock usherd: resume flows and issue tokens again.",
    discussion: """
      On a terminal, asks for your passcode and does not show it; otherwise reads it as one line \
      from standard input. With --admin no passcode is needed; without it, a rule must allow this \
      call.
      """)

  @OptionGroup var options: GlobalOptions

  @Flag(help: "Use the admin socket, which needs no passcode.")
  var admin = false

  func run(at context: CommandContext) async throws {
    let passcode = admin ? nil : WireSecret(try await context.console.readPasscode("passcode"))
    try await context.show(
      SystemUnlock(passcode: passcode), on: admin ? context.admin : context.app
    ) { _ in
      context.console.printMessage("usherd is unlocked")
    }
  }
}

extension Console {
  /// Reads a passcode, which the terminal does not show.
  ///
  /// - Parameter name: What the prompt calls the passcode.
  func readPasscode(_ name: String) async throws -> Secret {
    if isInteractive { prompt("\(name) (not shown): ") }
    guard let line = try await readLine(echo: false) else {
      throw CommandFailure("the \(name) is missing: the input ended")
    }
    return Secret(line.withoutCarriageReturn)
  }
}
