import UsherClient

/// The ways in which a person can change or settle a challenge that is answered on another device
/// or page.
struct ChallengeChange {
  let kind: Step.Kind
  let alternatives: [StepOption]
  let resendAt: Timestamp?
  let takesConfirmation: Bool

  init(_ step: Step.Wait) {
    kind = .wait
    alternatives = step.alternatives ?? []
    resendAt = step.resendAt
    takesConfirmation = step.takesConfirmation ?? false
  }

  init(_ step: Step.OpenURL) {
    kind = .openURL
    alternatives = step.alternatives ?? []
    resendAt = step.resendAt
    takesConfirmation = step.takesConfirmation ?? false
  }

  /// What the person may type, for the prompt; empty if nothing.
  var hints: [String] {
    [
      takesConfirmation ? "Enter when it is confirmed" : nil,
      resendAt == nil ? nil : "r for another one",
      alternatives.isEmpty ? nil : "m for another method",
    ].compactMap(\.self)
  }
}

extension StepPrompts {
  /// Asks the person whether to change or settle the challenge while the daemon polls.
  ///
  /// - Returns: Nil if the step takes no input, or if there is no person to ask.
  func askForChange(_ change: ChallengeChange) async throws -> FlowInput? {
    guard console.isInteractive || change.takesConfirmation, !change.hints.isEmpty else {
      return nil
    }
    while true {
      let answer = try await line(change.hints.joined(separator: ", "))
      if let input = try await self.change(answer, change) { return input }
    }
  }

  /// Returns the input that a typed line means; nil if it means none.
  func change(_ answer: String, _ change: ChallengeChange) async throws -> FlowInput? {
    switch answer.lowercased() {
    case "" where change.takesConfirmation: return .confirmed(at: change.kind)
    case "m" where !change.alternatives.isEmpty:
      return .alternative(try await choose(change.alternatives), at: change.kind)
    case "r", "resend":
      guard let resendAt = change.resendAt else { return nil }
      let pause = resendAt - context.environment.clock.now()
      if pause <= .zero { return .resend(at: change.kind) }
      console.printMessage("another one can be requested in \(pause.text)")
      return nil
    default: return nil
    }
  }
}
