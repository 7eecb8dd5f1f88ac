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
      attemptsLeft: counters.attemptsLeft, alsoAsk: [], operation: terms.operation)
  }

  /// How long the step shows a challenge as valid if neither the challenge nor the event has an
  /// expiry.
  private static let defaultLifetime = Duration.seconds(300)

  private func password(_ challenge: Challenge, _ purpose: SCAForm.Purpose) -> Step.EnterPassword {
    let others = alternatives(to: challenge).map(\.shown)
    return .init(
      purpose: purpose.rawValue, alternatives: others.isEmpty ? nil : others,
      operation: terms.operation)
  }

  /// Returns the verifications that the customer can use instead: all others, and the same one if
  /// its challenge has expired.
  func alternatives(to challenge: Challenge) -> [SCAOption] {
    options.filter { $0.id != challenge.option.id || challenge.isOver }
  }

  private func step(_ watch: Watch) -> Step {
    switch watch.place {
    case .device:
      .wait(.init(for: "the confirmation on your device", pollAfterMs: terms.pollSeconds * 1000))
    case .page(let url, let returnURL):
      .openURL(.init(url: url, redirectURI: returnURL, completes: .poll))
    }
  }
}
