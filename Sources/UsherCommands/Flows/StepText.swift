import UsherClient

/// The text that describes a step, shown before the person is asked.
struct StepText {
  let flow: Flow
  let now: Timestamp
  /// Whether a command exchanges credentials. If one does, credentials are not shown.
  let exchangesByCommand: Bool

  /// The lines to print for the flow's step; empty if the flow has no step.
  var lines: [String] { flow.step.map { lines($0) } ?? [] }

  private func lines(_ step: Step) -> [String] {
    switch step {
    case .openURL(let step): lines(step)
    case .displayCode(let step): lines(step)
    case .enterCode(let step): operation(step.operation) + [step.codeLocation]
    case .enterPassword(let step): operation(step.operation) + [step.secretPrompt]
    case .choose(let step): operation(step.operation) + ["choose \(step.what.text):"]
    case .fillForm: ["please fill in:"]
    case .consent(let step): ["\(step.client) asks for:"]
    case .exchangeCredential(let step): lines(step)
    case .localAuth(let step):
      [step.reason] + (step.scanning ? ["touch the fingerprint reader"] : [])
    case .wait(let step): ["waiting for \(step.for) (at most \((flow.expiresAt - now).text))"]
    }
  }

  private func lines(_ step: Step.OpenURL) -> [String] {
    let purpose = step.completes == .poll ? "to continue" : "to sign in"
    return ["open this page \(purpose) at \(flow.provider):", "  \(step.url)"]
  }

  private func lines(_ step: Step.DisplayCode) -> [String] {
    var lines = ["enter the code \(step.userCode) at", "  \(step.verificationURI)"]
    if let whole = step.verificationURIComplete { lines += ["or open", "  \(whole)"] }
    return lines + ["the code is valid until \(step.expiresAt)"]
  }

  /// Returns the lines for an exchange step. They show the credential, because the person has to
  /// pass it on, unless a command does.
  private func lines(_ step: Step.ExchangeCredential) -> [String] {
    if exchangesByCommand {
      return ["the exchange command has \((step.deadline - now).text) to answer"]
    }
    var lines = ["exchange this at your backend until \(step.deadline):"]
    lines.append("  code          \(step.credential.code.revealed())")
    if let verifier = step.codeVerifier { lines.append("  code verifier \(verifier.revealed())") }
    if let uri = step.redirectURI { lines.append("  redirect URI  \(uri)") }
    return lines + ["  request       \(step.requestId)"]
  }

  private func operation(_ operation: Operation?) -> [String] {
    guard let operation else { return [] }
    return ["\(operation.summary): \(operation.amount) to \(operation.payee)"]
  }
}

extension Step.EnterCode {
  fileprivate var codeLocation: String {
    let target = maskedTarget.isEmpty ? "" : " to \(maskedTarget)"
    switch channel.lowercased() {
    case "authenticator", "totp": return "your authenticator shows \(code)"
    case "sms": return "\(code) was sent by SMS\(target)"
    case "email": return "\(code) was sent by e-mail\(target)"
    default: return "\(code) was sent by \(channel)\(target)"
    }
  }

  private var code: String {
    switch purpose {
    case .otp: "a code"
    case .sca: "a code to approve this"
    case .twoFactor: "a code for the second factor"
    }
  }
}

extension Step.EnterPassword {
  fileprivate var secretPrompt: String {
    switch purpose.lowercased() {
    case "pin", "password", "login": "a \(name) is required"
    default: "a \(name) is required: \(purpose)"
    }
  }

  /// The word for the secret that the step asks for, as it is used in prompts.
  var name: String { purpose.lowercased() == "pin" ? "PIN" : "password" }
}

extension Step.Choose.Subject {
  fileprivate var text: String {
    switch self {
    case .account: "an account"
    case .verification: "a verification method"
    case .loginMethod: "how to sign in"
    }
  }
}
