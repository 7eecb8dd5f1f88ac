import UsherAPI
import UsherCore

/// What a person is shown of a step, before anything is asked.
struct StepText {
  private let provider: ProviderName

  init(_ provider: ProviderName) { self.provider = provider }

  func lines(_ step: Step) -> [String] {
    switch step {
    case .openURL(let step): ["open this page to sign in at \(provider):", "  \(step.url)"]
    case .displayCode(let step): lines(step)
    case .enterCode(let step): lines(step)
    case .enterPassword(let step): operation(step.operation) + ["a password is asked for"]
    case .choose(let step): operation(step.operation) + ["choose \(step.what.words):"]
    case .fillForm: ["please fill in:"]
    case .consent(let step): ["\(step.client) asks for:"]
    case .exchangeCredential(let step): lines(step)
    case .localAuth(let step): [step.reason] + (step.scanning ? ["waiting for your finger"] : [])
    case .wait(let step): ["waiting: \(step.for)"]
    }
  }

  private func lines(_ step: Step.DisplayCode) -> [String] {
    var lines = ["enter the code \(step.userCode) at", "  \(step.verificationURI)"]
    if let whole = step.verificationURIComplete { lines += ["or open", "  \(whole)"] }
    return lines + ["the code is valid until \(step.expiresAt)"]
  }

  private func lines(_ step: Step.EnterCode) -> [String] {
    let target = step.maskedTarget.isEmpty ? "" : " to \(step.maskedTarget)"
    return operation(step.operation) + ["a code was sent by \(step.channel)\(target)"]
  }

  /// Handing the credential over is this step's purpose.
  private func lines(_ step: Step.ExchangeCredential) -> [String] {
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

extension Step.Choose.Subject {
  fileprivate var words: String {
    switch self {
    case .account: "an account"
    case .verification: "how to be verified"
    case .loginMethod: "how to sign in"
    }
  }
}
