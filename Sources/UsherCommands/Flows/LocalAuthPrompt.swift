import UsherClient

// The prompt for local authentication: fingerprint or passcode.

extension StepPrompts {
  /// Asks the person for a passcode or a fingerprint. A passcode has at least four characters, so
  /// single letters are commands: `c` cancels, `o` asks for another method. Enter starts the
  /// fingerprint reader, or asks for another method while the reader is active.
  func authenticate(_ step: Step.LocalAuth) async throws -> FlowInput {
    while true {
      let answer = try await line(step.question, echo: false)
      switch answer.lowercased() {
      case "c": return .cancelLocalAuth
      case "o": return .fallback
      case "":
        if step.scanning { return .fallback }
        if step.methods.contains(.biometric) { return .biometric }
      default:
        if step.methods.contains(.passcode) { return .passcode(Secret(answer)) }
        console.printMessage("enter one of these letters")
      }
    }
  }
}

extension Step.LocalAuth {
  /// The text of the prompt, such as `passcode (not shown), Enter for the fingerprint reader, o for
  /// another way, c to cancel`.
  fileprivate var question: String {
    var ways: [String] = []
    if methods.contains(.passcode) {
      ways.append(scanning ? "or the passcode (not shown)" : "passcode (not shown)")
    }
    if scanning {
      ways.append("Enter for another method")
    } else {
      if methods.contains(.biometric) { ways.append("Enter for the fingerprint reader") }
      ways.append("o for another method")
    }
    return (ways + ["c to cancel"]).joined(separator: ", ")
  }
}
