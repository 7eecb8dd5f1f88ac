import UsherAPI
import UsherCore

// The ends and problems of SCA.

extension Failure {
  /// The person said no, here or on another device.
  static func refused(_ provider: ProviderName, reason: String?) -> Failure {
    Failure(
      reason: .denied, title: "Refused by the customer",
      message: "the operation was not approved", retryable: false,
      provider: ProviderErrorCode(name: provider, code: "REJECTED", message: reason))
  }

  /// The seed's `WalletError.dataError`.
  ///
  /// - Parameter error: The server's own code, where it has one.
  static func attemptsExhausted(
    _ provider: ProviderName, error: String? = nil, reason: String?
  ) -> Failure {
    Failure(
      reason: .attemptsExhausted, title: "Too many attempts",
      message: "no attempt is left: the operation has to be begun anew", retryable: false,
      provider: ProviderErrorCode(name: provider, code: "dataError", error: error, message: reason))
  }

  static func eventExpired(_ word: ProviderErrorCode?) -> Failure {
    Failure(
      reason: .expired, title: "Too late",
      message: word?.message ?? "the time to approve the operation is over", retryable: false,
      provider: word)
  }

  static func newLogInNeeded(_ message: String) -> Failure {
    Failure(
      reason: .providerRejected, title: "New log-in needed",
      message: "a new log-in is needed: \(message)", retryable: true)
  }

  /// The same where a challenge may have gone out: nobody may take it for a call that can simply be made
  /// again.
  ///
  /// - Parameter message: As ``SCAForm/message``.
  func perhapsSent(_ message: String) -> Failure {
    var failure = self
    failure.message += "; " + String.perhapsSent(message)
    failure.retryable = false
    return failure
  }

  /// None of an event's verifications can be done.
  static func noVerification(wantsReturnURL: Bool) -> Failure {
    Failure(
      reason: .invalidRequest, title: "No way to approve",
      message: wantsReturnURL
        ? "the event is approved on a page of the provider only, and there is no returnUrl"
        : "none of the event's verifications can be done here",
      retryable: false)
  }
}

extension SCARefusal {
  /// Where nothing but the end is left.
  var failure: Failure {
    switch kind {
    case .expired: .eventExpired(word)
    case .exhausted: .attemptsExhausted(word.name, error: word.code, reason: word.message)
    case .unavailable, .noChallenge, .completed, .tooMany, .other: .rejected(word)
    }
  }
}

extension Problem {
  static func wrongCode(_ provider: ProviderName, reason: String?) -> Problem {
    Problem(
      reason: "wrong_code", title: "Wrong", message: "what was entered is wrong",
      provider: ProviderErrorCode(name: provider, code: "FAILED", message: reason))
  }

  /// - Parameter time: Nil where the provider does not say how long.
  static func rateLimited(_ word: ProviderErrorCode, for time: Duration?) -> Problem {
    Problem(
      reason: "rate_limited", title: "Too many requests",
      message: word.message ?? "the provider takes no more for the time being",
      retryAfterMs: time.map { Int($0.milliseconds) }, provider: word)
  }

  /// Another challenge could not be sent, and the one before stays.
  ///
  /// - Parameter failure: Why; without a challenge before it would be the end.
  static func notSentAgain(_ failure: Failure) -> Problem {
    Problem(
      reason: failure.reason.rawValue, title: "Not sent again",
      message: "another one could not be sent (\(failure.message)); "
        + "the one that was sent before may still be good",
      provider: failure.provider)
  }

  static let challengeExpired = Problem(
    reason: "challenge_expired", title: "Too late",
    message: "the time for this is over; ask for another one")

  static func verificationUnavailable(_ word: ProviderErrorCode?) -> Problem {
    Problem(
      reason: "verification_unavailable", title: "Not possible this way",
      message: word?.message ?? "the operation cannot be approved this way; choose another one",
      provider: word)
  }

  /// The answer to what a person did never came, or a restart swallowed it.
  static let answerLost = Problem(
    reason: Problem.interrupted.reason, title: Problem.interrupted.title,
    message: "the provider's answer was lost; please do this step again")
}
