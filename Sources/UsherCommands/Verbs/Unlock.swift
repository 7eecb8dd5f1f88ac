import ArgumentParser
import UsherAPI
import UsherCore

struct UnlockVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: "Take everything up again where it was locked.",
    discussion: """
      Your passcode is asked for: on a terminal it is not shown, otherwise it is a line of standard \
      input. With --admin there is none, and without it a rule must allow the call.
      """)

  @OptionGroup var options: GlobalOptions

  @Flag(help: "Ask on the admin socket, which needs no passcode.")
  var admin = false

  func run(at context: CommandContext) async throws {
    let passcode = admin ? nil : WireSecret(try await context.console.readPasscode("passcode"))
    try await context.show(
      SystemUnlock(passcode: passcode), on: admin ? context.admin : context.app
    ) { _ in
      context.console.note("usherd is unlocked")
    }
  }
}

extension Console {
  /// Reads a line that is not shown.
  ///
  /// - Parameter name: The name in the prompt.
  func readPasscode(_ name: String) async throws -> Secret {
    if isInteractive { prompt("\(name) (not shown): ") }
    guard let line = try await readLine(echo: false) else {
      throw Failure("the \(name) is missing: the input has ended")
    }
    return Secret(line.hasSuffix("\r") ? String(line.dropLast()) : line)
  }
}
