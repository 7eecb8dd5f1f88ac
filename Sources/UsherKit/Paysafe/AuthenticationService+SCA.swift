import UsherAPI
import UsherClient
import UsherCore

// Strong Customer Authentication. The event's flow is found by its key, which is the event's id.

extension Wallet.AuthenticationService {
  public typealias SCAChallengeRequest =
    Wallet.SCAAuthenticationEventChallengeEmbeddedHybridRequest
  public typealias SCAChallengeResponse =
    Wallet.SCAAuthenticationEventChallengeEmbeddedHybridResponse
  public typealias SCAAttemptRequest = Wallet.SCAAuthenticationEventAttemptEmbeddedHybridRequest
  public typealias SCAAttemptResponse = Wallet.SCAAuthenticationEventAttemptEmbeddedHybridResponse

  /// Sends a challenge to the customer, or sends it again.
  ///
  /// Channel `redirect` requires a `returnURL` in `verification.action`. For a push notification or
  /// a redirect the customer answers elsewhere: ``awaitSCAApproval(eventID:request:)`` waits for
  /// that. Beyond the wallet's limit of challenges it is ``WalletError/rateLimited(_:)`` until the
  /// cool-down is over.
  ///
  /// - Parameters:
  ///   - eventID: From the wallet operation that requires SCA.
  ///   - request: With the operation's own id.
  public func sendSCAChallenge(
    eventID: String, request: SCAChallengeRequest
  ) async throws(WalletError) -> SCAChallengeResponse {
    try await translating(to: WalletError.self) {
      let flow: Flow
      if let again = try await sendAgain(eventID, request) {
        flow = again
      } else {
        let session = try await wallet.begin(.sca, request.params(eventID, wallet.account))
        flow = try await session.first(where: \.isChallenged)
      }
      return try SCAChallengeResponse(flow, eventID, request)
    }
  }

  /// Submits what the customer entered, and waits for the verdict.
  ///
  /// A wrong value is no error but status `failed`. Reaching the wallet's limit of attempts is
  /// ``WalletError/dataError(_:)`` (seed): then the wallet operation has to begin anew. A value
  /// that cannot be one, a code too short, is ``WalletError/invalidRequest(_:)`` and costs no
  /// attempt. Where no challenge of the event waits it is ``WalletError/nothingWaiting(_:)``. After
  /// ``WalletError/unavailable(_:)`` it is not known whether the value counted: submit it again
  /// where the event still waits.
  ///
  /// `walletOperationID` and `verification` are those of the challenge; the daemon keeps to that.
  public func submitSCAAttempt(
    eventID: String, request: SCAAttemptRequest
  ) async throws(WalletError) -> SCAAttemptResponse {
    try await translating(to: WalletError.self) {
      guard let session = try await wallet.newestFlow(.sca, key: eventID) else {
        throw KitError.noChallenge
      }
      let seen = try await session.first(where: \.isChallenged)
      guard let input = seen.step?.answer(request.value) else { throw KitError.noChallenge }
      let flow = try await session.answer(input, to: seen)
      return try SCAAttemptResponse(
        flow, eventID, request.walletOperationID, request.verification)
    }
  }

  /// Waits until the customer has answered a push notification or a redirect, and tells the
  /// verdict.
  ///
  /// The verdict is the wallet's own: the daemon asks it, and believes no `status` that a browser
  /// came back with. It is told for a day after, also to a program that was restarted.
  public func awaitSCAApproval(
    eventID: String, request: SCAChallengeRequest
  ) async throws(WalletError) -> SCAAttemptResponse {
    try await translating(to: WalletError.self) {
      guard let session = try await wallet.newestFlow(.sca, key: eventID, status: nil) else {
        throw KitError.noChallenge
      }
      let flow = try await session.first { $0.stands && $0.step?.kind != .openURL }
      if case .choose = flow.step {
        throw flow.problem.map { KitError($0) } ?? KitError.noChallenge
      }
      guard flow.status.isFinished else {
        throw KitError(.invalidRequest, "this challenge is answered by an attempt")
      }
      return try SCAAttemptResponse(
        flow, eventID, request.walletOperationID, request.verification)
    }
  }

  /// Sends the event's open challenge again.
  ///
  /// A challenge that cannot be sent again, or by another verification than was asked for before,
  /// makes way for a new one.
  ///
  /// - Returns: How the flow stands then; nil where there is none to go on with.
  private func sendAgain(_ eventID: String, _ request: SCAChallengeRequest) async throws -> Flow? {
    guard let session = try await wallet.newestFlow(.sca, key: eventID) else { return nil }
    let seen = try await session.first(where: \.isChallenged)
    if seen.status == .succeeded { return seen }
    switch seen.step {
    case .enterCode(let step) where request.verification.isSent(by: step.channel):
      return try await session.answer(.resend, to: seen, until: \.isChallenged)
    case .choose(let step) where step.options.contains { $0.id == request.verification.optionID }:
      let choice = FlowInput.choice(request.verification.optionID)
      return try await session.answer(choice, to: seen, until: \.isChallenged)
    case .enterCode, .choose, .enterPassword, .openURL, .wait, .displayCode, .fillForm, .consent,
      .exchangeCredential, .localAuth:
      try await session.cancel()
      return nil
    // It has ended, or is another client's, to which alone its step is shown.
    case nil: return nil
    }
  }
}

extension Flow {
  /// Whether a challenge has gone out, or somebody has to say which: also where the customer
  /// answers on another device, and the flow has nothing to ask.
  fileprivate var isChallenged: Bool { stands || state == "challenged" }
}

extension Step {
  /// What a customer entered as an answer to this; nil where nothing is to be entered.
  fileprivate func answer(_ value: Secret) -> FlowInput? {
    switch self {
    case .enterCode: .code(value, fields: [:])
    case .enterPassword: .password(value)
    case .openURL, .wait, .choose, .displayCode, .fillForm, .consent, .exchangeCredential,
      .localAuth:
      nil
    }
  }
}

extension KitError {
  fileprivate static var noChallenge: KitError {
    KitError(.nothingWaiting, "no challenge of this event waits for an answer: send one first")
  }
}

extension Wallet.SCAAuthenticationEventAttemptVerification {
  /// - Parameter channel: As a step names it: in lower case.
  fileprivate func isSent(by channel: String) -> Bool {
    self.channel?.rawValue.lowercased() == channel.lowercased()
  }
}
