import UsherClient

// The prompt for a one-time code, with the time that is left to enter it.

extension StepPrompts {
  /// Asks the person for the code, then for the other fields of the step. The inputs `r` and
  /// `resend` always request a new code, and `m` another method; they are never sent as a code. The
  /// input `<` at one of the other fields returns to the code.
  func askForCode(_ step: Step.EnterCode) async throws -> FlowInput {
    while true {
      let answer = try await line("code", canGoBack: true, countdown: step.countdown)
      if ["r", "resend"].contains(answer.lowercased()) {
        let pause = step.resendAt - context.environment.clock.now()
        if pause <= .zero { return .resend }
        console.printMessage("a new code can be requested in \(pause.text)")
      } else if let others = step.alternatives, answer.lowercased() == "m" {
        return .alternative(try await choose(others), at: .enterCode)
      } else if let code = step.code(typed: answer) {
        do {
          return .code(Secret(code), fields: try await fill(step.alsoAsk, besideCode: true))
        } catch Interruption.back {
          continue
        }
      } else if let digits = step.digits, !answer.isEmpty {
        console.printMessage("enter a code of \(digits) digits")
      }
    }
  }
}

extension Step.EnterCode {
  /// Returns the code that the person typed, without spaces and hyphens between digits; nil if the
  /// text cannot be a code.
  fileprivate func code(typed answer: String) -> String? {
    let bare = answer.filter { $0 != " " && $0 != "-" }
    let isNumber = !bare.isEmpty && bare.utf8.allSatisfy { (0x30...0x39).contains($0) }
    if let digits { return isNumber && bare.utf8.count == digits ? bare : nil }
    if isNumber { return bare }
    return answer.isEmpty ? nil : answer
  }

  fileprivate var countdown: Countdown {
    Countdown(end: expiresAt, lastChange: max(expiresAt, resendAt)) { self.status(at: $0) }
  }

  /// The line above the prompt, such as
  /// `6 digits, 4 min 59 s left, 3 attempts left, r for a new code in 12 s`.
  private func status(at now: Timestamp) -> String {
    var hints: [String] = []
    if let digits { hints.append("\(digits) digits") }
    hints.append(now < expiresAt ? "\((expiresAt - now).text) left" : "expired")
    if let attemptsLeft { hints.append("\(attemptsLeft.counting("attempt")) left") }
    let wait = resendAt - now
    hints.append(wait > .zero ? "r for a new code in \(wait.text)" : "r for a new code")
    if alternatives != nil { hints.append("m for another method") }
    return hints.joined(separator: ", ")
  }
}
