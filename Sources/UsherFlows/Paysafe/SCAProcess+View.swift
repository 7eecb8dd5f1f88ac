import UsherAPI
import UsherCore

// The process as the flow's owner sees it.
extension SCAProcess {
  var view: FlowView {
    switch state {
    case .required: shown("required", .wait(.init(for: "the list of verification methods")))
    case .choosing:
      shown(
        "choosing",
        .choose(
          .init(
            what: .verification, options: options.map(\.shown), operation: terms.operation)))
    case .challenging: shown("challenging", .wait(.init(for: "the challenge to be sent")))
    case .challenged(let challenge): shown("challenged", step(challenge))
    case .watching(let watch): shown("challenged", step(watch))
    case .attempting: shown("attempting", .wait(.init(for: "the provider's verdict")))
    case .inquiring: shown("inquiring", .wait(.init(for: "the event's status")))
    }
  }

  private func shown(_ state: String, _ step: Step) -> FlowView {
    FlowView(state: state, step: step, problem: problem, key: terms.event.id)
  }

  private func step(_ challenge: Challenge) -> Step {
    switch challenge.input {
    case .code(let channel, let digits): .enterCode(code(challenge, channel, digits))
    case .secret(let purpose): .enterPassword(password(challenge, purpose))
    }
  }

  private func code(
    _ challenge: Challenge, _ channel: SCAForm.Channel, _ digits: Int?
  ) -> Step.EnterCode {
    .init(
      purpose: .sca, channel: channel.rawValue, maskedTarget: challenge.option.target ?? "",
      digits: digits,
      expiresAt: challenge.expiresAt ?? expiresAt ?? challenge.sentAt + Self.defaultLifetime,
      resendAt: max(coolDown?.until ?? challenge.sentAt, challenge.sentAt),
      attemptsLeft: counters.attemptsLeft, alsoAsk: [],
      alternatives: alternatives(to: challenge).shown, operation: terms.operation,
      operationId: terms.event.walletOperationID)
  }

  /// How long the step shows a challenge as valid if neither the challenge nor the event has an
  /// expiry.
  private static let defaultLifetime = Duration.seconds(300)

  private func password(_ challenge: Challenge, _ purpose: SCAForm.Purpose) -> Step.EnterPassword {
    .init(
      purpose: purpose.rawValue, alternatives: alternatives(to: challenge).shown,
      attemptsLeft: counters.attemptsLeft, operation: terms.operation,
      operationId: terms.event.walletOperationID)
  }

  /// Returns the verifications that the customer can use instead: all others, and the same one if
  /// its challenge has expired and the step has no input to send it again.
  func alternatives(to challenge: Challenge) -> [SCAOption] {
    if case .secret = challenge.input, challenge.isOver { return agreed }
    return agreed.filter { $0.id != challenge.option.id }
  }

  func alternatives(to watch: Watch) -> [SCAOption] {
    agreed.filter { $0.id != watch.sent?.option.id }
  }

  /// The options, where an event whose verifications are unknown may accept any method. Paysafe
  /// refuses those that it does not offer.
  private var agreed: [SCAOption] { copy(self) { $0.offers = $0.offers ?? [] }.options }

  private func step(_ watch: Watch) -> Step {
    let resendAt = watch.sent.map { max(coolDown?.until ?? $0.at, $0.at) }
    let others = alternatives(to: watch).shown
    switch watch.place {
    case .device:
      return .wait(
        .init(
          for: "the confirmation on your device",
          pollAfterMs: watch.isBlind == true ? nil : terms.pollSeconds * 1000,
          option: watch.sent?.option.id, alternatives: others, resendAt: resendAt,
          takesConfirmation: watch.isBlind))
    case .page(let url, let returnURL):
      return .openURL(
        .init(
          url: url, redirectURI: returnURL, completes: watch.isBlind == true ? .submit : .poll,
          option: watch.sent?.option.id, alternatives: others, resendAt: resendAt,
          takesConfirmation: watch.isBlind))
    }
  }
}

extension [SCAOption] {
  /// The options in the form in which a step shows them; nil if there are none.
  fileprivate var shown: [StepOption]? { isEmpty ? nil : map(\.shown) }
}
