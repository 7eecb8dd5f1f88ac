import UsherClient

// Strong Customer Authentication (SCA).

extension Wallet.AuthenticationService {
  public typealias SCAChallengeRequest =
    Wallet.SCAAuthenticationEventChallengeEmbeddedHybridRequest
  public typealias SCAChallengeResponse =
    Wallet.SCAAuthenticationEventChallengeEmbeddedHybridResponse
  public typealias SCAAttemptRequest = Wallet.SCAAuthenticationEventAttemptEmbeddedHybridRequest
  public typealias SCAAttemptResponse = Wallet.SCAAuthenticationEventAttemptEmbeddedHybridResponse

  /// Sends a challenge to the customer, or sends the open challenge again. It replaces an open
  /// challenge by another verification.
  ///
  /// Channel `redirect` requires a `returnURL` in `verification.action`: an `https` URL, or an
  /// `http` URL on the loopback interface. A challenge that is sent again, or by another
  /// verification in place of an open one, has the language of the first. The customer answers a
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
  /// The value answers the challenge of the request's `walletOperationID` and `verification`, also
  /// if another program or device had it sent.
  public func submitSCAAttempt(
    eventID: String, request: SCAAttemptRequest
  ) async throws(WalletError) -> SCAAttemptResponse {
    try await translating(to: WalletError.self) {
      let (session, seen) = try await openChallenge(eventID, request)
      // Nothing may be submitted after a success: the wallet judges an event by its latest attempt.
      if seen.status == .succeeded {
        return try SCAAttemptResponse(
          seen, eventID, request.walletOperationID, request.verification)
      }
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
  ///   ``submitSCAAttempt(eventID:request:)``, or if the wallet has no call for the verdict: repeat
  ///   the wallet operation then, once the customer has confirmed;
  ///   ``WalletError/nothingWaiting(_:)`` if the event has no challenge.
  public func awaitSCAApproval(
    eventID: String, request: SCAChallengeRequest
  ) async throws(WalletError) -> SCAAttemptResponse {
    try await translating(to: WalletError.self) {
      guard
        let session = try await wallet.provider.newestFlow(Wallet.sca, key: eventID, status: nil)
      else { throw KitError.noChallenge }
      let flow = try await session.waitUntil {
        $0.isSettled && $0.step?.kind != .openURL || $0.step?.isUnobserved ?? false
      }
      if case .choose = flow.step {
        throw flow.problem.map { KitError($0) } ?? KitError.noChallenge
      }
      guard flow.status.isFinished else {
        throw flow.step?.isUnobserved ?? false ? KitError.unobserved : .answeredByAttempt
      }
      return try SCAAttemptResponse(
        flow, eventID, request.walletOperationID, request.verification)
    }
  }

  /// Sends the open challenge of the event again, or one by another verification in its place.
  ///
  /// - Returns: The flow after that; nil if a new flow must be started.
  private func resendChallenge(_ eventID: String, _ request: SCAChallengeRequest) async throws
    -> Flow?
  {
    guard let session = try await wallet.provider.newestFlow(Wallet.sca, key: eventID) else {
      return nil
    }
    guard !session.flow.isHidden else { return nil }
    let seen = try await session.waitUntil(\.isChallenged)
    if seen.status == .succeeded { return seen }
    // Without a step the flow has ended.
    guard let step = seen.step, step.approves(request.walletOperationID),
      step.returns(to: request.verification)
    else { return nil }
    if let input = step.challengeInput(for: request.verification) {
      return try await session.answer(input, to: seen, until: \.isChallenged)
    }
    guard case .enterPassword = step, step.isChallenge(by: request.verification) else { return nil }
    // The step still asks for the PIN or password. What was wrong with the last one is history.
    var open = seen
    open.problem = nil
    return open
  }

  /// Returns the flow that waits for the answer to the challenge of a request, and starts one if
  /// the challenge was sent elsewhere.
  private func openChallenge(
    _ eventID: String, _ request: SCAAttemptRequest
  ) async throws -> (FlowSession, Flow) {
    let found = try await wallet.provider.newestFlow(Wallet.sca, key: eventID, status: nil)
    if let found, !found.flow.isHidden {
      let seen = try await found.waitUntil(\.isChallenged)
      if seen.step?.isChallenge(by: request.verification) == true,
        seen.step?.approves(request.walletOperationID) == true
      {
        return (found, seen)
      }
      if seen.status == .succeeded, seen.isAbout(request.walletOperationID) {
        return (found, seen)
      }
      // After the limit of attempts, any further one gets the same error.
      if let failure = seen.failure, failure.reason == .attemptsExhausted {
        throw KitError(failure)
      }
    }
    guard request.verification.isTyped else { throw KitError.noChallenge }
    let session = try await wallet.provider.start(
      Wallet.sca, request.params(eventID, wallet.account))
    return (session, try await session.waitUntil(\.isChallenged).requireNoFailure())
  }
}

extension Flow {
  /// Whether a challenge was sent, or the flow waits for an answer or has ended.
  ///
  /// If the customer answers on another device, the flow has no step to answer; therefore the state
  /// is compared.
  fileprivate var isChallenged: Bool { isSettled || state == "challenged" }
}

extension Flow {
  /// Whether another client started the flow: then only that client sees and answers its step.
  fileprivate var isHidden: Bool { status == .active && step == nil }

  /// Whether the flow has ended with a result for this wallet operation. The result of another
  /// client's flow is not visible.
  fileprivate func isAbout(_ walletOperationID: String) -> Bool {
    guard let result else { return false }
    return (result["walletOperationId"]?.stringValue ?? walletOperationID) == walletOperationID
  }
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

extension Step {
  /// Whether only the customer knows when the challenge is answered, because the daemon cannot ask
  /// the wallet.
  fileprivate var isUnobserved: Bool {
    switch self {
    case .openURL(let step): step.takesConfirmation ?? false
    case .wait(let step): step.takesConfirmation ?? false
    case .enterCode, .enterPassword, .choose, .displayCode, .fillForm, .consent,
      .exchangeCredential, .localAuth:
      false
    }
  }
}

extension KitError {
  fileprivate static var answeredByAttempt: KitError {
    KitError(.invalidRequest, "this challenge is answered by an attempt")
  }

  static var unobserved: KitError {
    KitError(
      .invalidRequest,
      "the wallet has no call for the verdict: repeat the operation when it is confirmed")
  }

  fileprivate static var noChallenge: KitError {
    KitError(.nothingWaiting, "no challenge of this event is waiting for an answer: send one first")
  }
}

extension Step {
  /// Returns whether the step is for a challenge of a wallet operation. A step without the id of an
  /// operation is for any.
  fileprivate func approves(_ walletOperationID: String) -> Bool {
    switch self {
    case .enterCode(let step): step.operationId == nil || step.operationId == walletOperationID
    case .enterPassword(let step): step.operationId == nil || step.operationId == walletOperationID
    case .openURL, .wait, .choose, .displayCode, .fillForm, .consent, .exchangeCredential,
      .localAuth:
      true
    }
  }

  /// Returns whether a page to which the verification redirects returns where the caller listens.
  /// A flow keeps the URL with which it was started.
  fileprivate func returns(
    to verification: Wallet.SCAAuthenticationEventAttemptVerification
  ) -> Bool {
    guard verification.channel == .redirect, let url = verification.action?.returnURL else {
      return true
    }
    guard case .openURL(let step) = self else { return false }
    return step.redirectURI == url
  }

  /// Returns whether the step waits for the answer to a challenge by this verification.
  fileprivate func isChallenge(
    by verification: Wallet.SCAAuthenticationEventAttemptVerification
  ) -> Bool {
    switch self {
    case .enterCode(let step):
      verification.method == .otp && verification.isSent(by: step.channel)
    case .enterPassword(let step):
      verification.channel == nil
        && verification.method.rawValue.lowercased() == step.purpose.lowercased()
    // A daemon of version 0.1 does not name the option.
    case .openURL(let step):
      step.option.map { $0 == verification.optionID } ?? (verification.channel == .redirect)
    case .wait(let step):
      step.option.map { $0 == verification.optionID }
        ?? (verification.channel == .pushNotification
          || verification.method == .pushNotification)
    case .choose, .displayCode, .fillForm, .consent, .exchangeCredential, .localAuth: false
    }
  }

  /// Returns the input with which the step sends a challenge by this verification; nil if it does
  /// not offer one.
  fileprivate func challengeInput(
    for verification: Wallet.SCAAuthenticationEventAttemptVerification
  ) -> FlowInput? {
    let id = verification.optionID
    let others: [StepOption]?
    switch self {
    case .choose(let step): return step.options.contains { $0.id == id } ? .choice(id) : nil
    case .enterCode(let step): others = step.alternatives
    case .enterPassword(let step): others = step.alternatives
    case .openURL(let step): others = step.alternatives
    case .wait(let step): others = step.alternatives
    case .displayCode, .fillForm, .consent, .exchangeCredential, .localAuth: return nil
    }
    if others?.contains(where: { $0.id == id }) == true { return .alternative(id, at: kind) }
    guard isChallenge(by: verification), kind != .enterPassword else { return nil }
    return .resend(at: kind)
  }
}

extension Wallet.SCAAuthenticationEventAttemptVerification {
  /// Returns whether a challenge by this verification uses the channel.
  ///
  /// - Parameter channel: The channel of a step, in lower case.
  fileprivate func isSent(by channel: String) -> Bool {
    self.channel?.rawValue.lowercased() == channel.lowercased()
  }

  /// Whether the customer answers a challenge by this verification with a code or a password.
  fileprivate var isTyped: Bool {
    switch channel {
    case .sms, .email, .authenticator: true
    case .pushNotification, .redirect: false
    case nil: [.pin, .password].contains(method)
    }
  }
}
