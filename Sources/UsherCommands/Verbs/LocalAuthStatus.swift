import ArgumentParser
import UsherClient

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
