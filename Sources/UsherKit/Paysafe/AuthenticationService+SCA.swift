import UsherClient

// Strong Customer Authentication (SCA).

extension Wallet.AuthenticationService {
  public typealias SCAChallengeRequest =
    Wallet.SCAAuthenticationEventChallengeEmbeddedHybridRequest
  public typealias SCAChallengeResponse =
    Wallet.SCAAuthenticationEventChallengeEmbeddedHybridResponse
  public typealias SCAAttemptRequest = Wallet.SCAAuthenticationEventAttemptEmbeddedHybridRequest
  public typealias SCAAttemptResponse = Wallet.SCAAuthenticationEventAttemptEmbeddedHybridResponse

  /// Sends a challenge to the customer, or sends the open challenge again.
  ///
  /// Channel `redirect` requires a `returnURL` in `verification.action`. The customer answers a
  /// push notification or a redirect on another device or page: wait with
  /// ``awaitSCAApproval(eventID:request:)``. Above the wallet's limit of challenges the call throws
  /// ``WalletError/rateLimited(_:)`` until the cool-down is over.
  ///
  /// - Parameters:
  ///   - eventID: The id of the SCA event, from the wallet operation that requires SCA.
  ///   - request: The id of that operation, and the verification to use.
  public func sendSCAChallenge(
    eventID: String, request: SCAChallengeRequest
  ) async throws(WalletError) -> SCAChallengeResponse {
    try await translating(to: WalletError.self) {
      let flow: Flow
      if let again = try await resendChallenge(eventID, request) {
        flow = again
      } else {
        let session = try await wallet.provider.start(
          Wallet.sca, request.params(eventID, wallet.account))
        flow = try await session.waitUntil(\.isChallenged)
      }
      return try SCAChallengeResponse(flow, eventID, request)
    }
  }

  /// Submits the value that the customer entered, and waits for the wallet's verdict.
  ///
  /// A wrong value throws no error: the response has status `failed`. At the wallet's limit of
  /// attempts the call throws ``WalletError/dataError(_:)`` (SDK documentation), and the wallet
  /// operation must begin anew. A malformed value, such as a code that is too short, throws
  /// ``WalletError/invalidRequest(_:)`` and does not count as an attempt. If no challenge of the
  /// event is open, the call throws ``WalletError/nothingWaiting(_:)``. After
  /// ``WalletError/unavailable(_:)`` it is unknown whether the value counted: submit it again if
  /// the challenge is still open.
  ///
  /// `walletOperationID` and `verification` of the request are copied into the response; the daemon
  /// uses those of the challenge.
  public func submitSCAAttempt(
    eventID: String, request: SCAAttemptRequest
  ) async throws(WalletError) -> SCAAttemptResponse {
    try await translating(to: WalletError.self) {
      guard let session = try await wallet.provider.newestFlow(Wallet.sca, key: eventID) else {
        throw KitError.noChallenge
      }
      let seen = try await session.waitUntil(\.isChallenged)
      guard let input = seen.step?.answer(request.value) else { throw KitError.noChallenge }
      let flow = try await session.answer(input, to: seen)
      return try SCAAttemptResponse(
        flow, eventID, request.walletOperationID, request.verification)
    }
  }

  /// Waits until the customer has answered a push notification or a redirect, and returns the
  /// wallet's verdict.
  ///
  /// The daemon asks the wallet for the verdict and does not trust the `status` in a redirect. The
  /// verdict can be read for a day, also after a restart of the program.
  ///
  /// - Throws: ``WalletError/invalidRequest(_:)`` if the challenge is answered with
  ///   ``submitSCAAttempt(eventID:request:)``; ``WalletError/nothingWaiting(_:)`` if the event has
  ///   no challenge.
  public func awaitSCAApproval(
    eventID: String, request: SCAChallengeRequest
  ) async throws(WalletError) -> SCAAttemptResponse {
    try await translating(to: WalletError.self) {
      guard
        let session = try await wallet.provider.newestFlow(Wallet.sca, key: eventID, status: nil)
      else { throw KitError.noChallenge }
      let flow = try await session.waitUntil { $0.isSettled && $0.step?.kind != .openURL }
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

  /// Sends the open challenge of the event again.
  ///
  /// If the event's flow cannot do that, or its challenge uses another verification, the flow is
  /// cancelled.
  ///
  /// - Returns: The flow after that; nil if a new flow must be started.
  private func resendChallenge(_ eventID: String, _ request: SCAChallengeRequest) async throws
    -> Flow?
  {
    guard let session = try await wallet.provider.newestFlow(Wallet.sca, key: eventID) else {
      return nil
    }
    let seen = try await session.waitUntil(\.isChallenged)
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
    // The flow has ended; or another client started it, and only that client sees its step.
    case nil: return nil
    }
  }
}

extension Flow {
  /// Whether a challenge was sent, or the flow waits for an answer or has ended.
  ///
  /// If the customer answers on another device, the flow has no step to answer; therefore the state
  /// is compared.
  fileprivate var isChallenged: Bool { isSettled || state == "challenged" }
}

extension Step {
  /// Returns the value as the answer to this step; nil if the step does not ask for a value.
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
    KitError(.nothingWaiting, "no challenge of this event is waiting for an answer: send one first")
  }
}

extension Wallet.SCAAuthenticationEventAttemptVerification {
  /// Returns whether a challenge by this verification uses the channel.
  ///
  /// - Parameter channel: The channel of a step, in lower case.
  fileprivate func isSent(by channel: String) -> Bool {
    self.channel?.rawValue.lowercased() == channel.lowercased()
  }
}
