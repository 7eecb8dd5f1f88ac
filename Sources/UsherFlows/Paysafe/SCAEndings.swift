import UsherAPI
import UsherCore

// Failures and problems of Strong Customer Authentication (SCA).

extension Failure {
  /// The failure of a flow whose customer refused the approval, here or on another device.
  static func refused(_ provider: ProviderName, reason: String?) -> Failure {
    Failure(
      reason: .denied, title: "Refused by the customer",
      message: "the operation was not approved", retryable: false,
      provider: ProviderErrorCode(name: provider, code: "REJECTED", message: reason))
  }

  /// The failure of a flow whose customer has no attempts left; `WalletError.dataError` of the SDK.
  ///
  /// - Parameter error: The server's own code; nil if it sent none.
  static func attemptsExhausted(
    _ provider: ProviderName, error: String? = nil, reason: String?
  ) -> Failure {
    Failure(
      reason: .attemptsExhausted, title: "Too many attempts",
      message: "no attempts are left: start the operation again", retryable: false,
      provider: ProviderErrorCode(name: provider, code: "dataError", error: error, message: reason))
  }

  static func eventExpired(_ errorCode: ProviderErrorCode?) -> Failure {
    Failure(
      reason: .expired, title: "Too late",
      message: errorCode?.message ?? "the time to approve the operation has expired",
      retryable: false,
      provider: errorCode)
  }

  /// The same failure, with the note that a challenge may have been sent. It is not retryable, so
  /// that no caller simply repeats the call.
  ///
  /// - Parameter message: The message that the challenge sends, as in ``SCAForm/message``.
  func perhapsSent(_ message: String) -> Failure {
    var failure = self
    failure.message += "; " + String.perhapsSent(message)
    failure.retryable = false
    return failure
  }

  /// The failure of a flow whose SCA event cannot be approved by any verification that usherd
  /// supports.
  /// - Parameter wantsReturnURL: Whether the event can be approved on a page of the provider, but
  ///   the flow has no `returnUrl` to which that page would lead the browser back.
  static func noVerification(wantsReturnURL: Bool) -> Failure {
    Failure(
      reason: .invalidRequest, title: "No way to approve",
      message: wantsReturnURL
        ? "the event can be approved on a page of the provider only, but returnUrl is missing"
        : "none of the event's verification methods is supported",
      retryable: false)
  }
}

extension SCARefusal {
  /// The failure of a flow that cannot continue after this refusal.
  var failure: Failure {
    switch kind {
    case .expired: .eventExpired(errorCode)
    case .exhausted:
      .attemptsExhausted(errorCode.name, error: errorCode.code, reason: errorCode.message)
    case .unavailable, .noChallenge, .completed, .noSuchCall, .tooMany, .other:
      .rejected(errorCode)
    }
  }
}

extension Problem {
  static func wrongCode(_ provider: ProviderName, reason: String?) -> Problem {
    Problem(
      reason: "wrong_code", title: "Wrong", message: "the entered value is wrong",
      provider: ProviderErrorCode(name: provider, code: "FAILED", message: reason))
  }

  /// The problem that Paysafe limits the rate of requests.
  ///
  /// - Parameter time: The remaining time; nil if Paysafe does not state it.
  static func rateLimited(_ errorCode: ProviderErrorCode, for time: Duration?) -> Problem {
    Problem(
      reason: "rate_limited", title: "Too many requests",
      message: errorCode.message ?? "the provider accepts no more requests at present",
      retryAfterMs: time.map { Int($0.milliseconds) }, provider: errorCode)
  }

  /// The problem that no new challenge could be sent, although the previous one can still be
  /// answered.
  ///
  /// - Parameter failure: The cause. Without a previous challenge it would end the flow.
  static func notSentAgain(_ failure: Failure) -> Problem {
    Problem(
      reason: failure.reason.rawValue, title: "Not sent again",
      message: "another one could not be sent (\(failure.message)); "
        + "the one that was sent before may still be valid",
      provider: failure.provider)
  }

  /// The problem that the wallet still demands the approval that the customer has reported.
  static let notConfirmed = Problem(
    reason: "not_confirmed", title: "Not approved yet",
    message: "the provider does not know of the approval; please finish it, and say so again")

  static let challengeExpired = Problem(
    reason: "challenge_expired", title: "Too late",
    message: "this has expired; request another one")

  static func verificationUnavailable(_ errorCode: ProviderErrorCode?) -> Problem {
    Problem(
      reason: "verification_unavailable", title: "Not possible this way",
      message: errorCode?.message
        ?? "the operation cannot be approved this way; choose another method",
      provider: errorCode)
  }

  /// The problem that the reply to the customer's last input was lost, on the network or because
  /// the daemon was restarted.
  static let answerLost = Problem(
    reason: Problem.interrupted.reason, title: Problem.interrupted.title,
    message: "the provider's answer was lost; please do this step again")
}
