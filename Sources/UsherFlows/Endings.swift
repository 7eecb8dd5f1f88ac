package import UsherAPI
package import UsherCore

// Failures and problems that the flows of all providers share.

extension Failure {
  /// The failure of a flow whose user declined, or to whom the provider denied access.
  package static func denied(_ errorCode: ProviderErrorCode) -> Failure {
    Failure(
      reason: .denied, title: "Sign-in denied", message: errorCode.sentence("access was denied"),
      retryable: true, provider: errorCode)
  }

  package static func rejected(_ errorCode: ProviderErrorCode) -> Failure {
    Failure(
      reason: .providerRejected, title: "Refused by the provider",
      message: errorCode.sentence("the provider answers \(errorCode.code)"), retryable: false,
      provider: errorCode)
  }

  /// The failure of a flow that the provider rejected without an error code.
  ///
  /// - Parameters:
  ///   - message: A sentence for people: lower case, no period, no secret.
  ///   - errorCode: The code that the provider's SDK has for the failure; nil if it has none.
  package static func rejected(
    _ message: String, _ errorCode: ProviderErrorCode? = nil
  ) -> Failure {
    Failure(
      reason: .providerRejected, title: "Refused", message: message, retryable: false,
      provider: errorCode)
  }

  package static let otherPerson = Failure.rejected(
    "the user who signed in is not the user of the named account")

  package static func expired(_ errorCode: ProviderErrorCode) -> Failure {
    Failure(
      reason: .expired, title: "Too late", message: errorCode.sentence("the sign-in has expired"),
      retryable: true, provider: errorCode)
  }

  /// The failure of a flow that cannot reach its provider.
  ///
  /// - Parameter retryable: False if the call may have taken effect, so that no caller simply
  ///   repeats it.
  package static func unreachable(
    _ message: String, _ errorCode: ProviderErrorCode? = nil, retryable: Bool = true
  ) -> Failure {
    Failure(
      reason: .providerUnreachable, title: "Provider unreachable", message: message,
      retryable: retryable, provider: errorCode)
  }

  /// The failure of a flow whose account has no usable token, so that the user must sign in again.
  static func loginRequired(_ message: String, _ errorCode: ProviderErrorCode? = nil) -> Failure {
    Failure(
      reason: .reauthenticationRequired, title: "New log-in needed",
      message: "a new log-in is needed: \(message)", retryable: true, provider: errorCode)
  }

  /// The failure of a flow whose provider sent a reply that cannot be trusted or read.
  package static func protocolError(_ message: String) -> Failure {
    Failure(
      reason: .providerProtocolError, title: "Unusable answer of the provider", message: message,
      retryable: false)
  }
}

extension String {
  /// The clause for a message about a call whose reply was lost.
  package static let operationUnknown = "whether the operation was performed is not known"

  /// Returns the clause for a message about a call that may have sent something to the user.
  ///
  /// - Parameter message: With an article: `an SMS`.
  package static func perhapsSent(_ message: String) -> String {
    "\(message) may have been sent all the same"
  }
}

extension Problem {
  /// The problem that a message may have been sent to the user, although the provider's reply was
  /// lost.
  ///
  /// - Parameter message: With an article: `a number`.
  package static func mayHaveBeenSent(_ message: String) -> Problem {
    Problem(
      reason: "may_have_been_sent", title: "Perhaps sent",
      message: "the provider's answer was lost: \(message) may have come all the same")
  }

  /// The problem of a step while the provider is unreachable. The daemon retries the call, or the
  /// user repeats the step.
  package static func unreachable(
    _ message: String, _ errorCode: ProviderErrorCode? = nil
  ) -> Problem {
    Problem(
      reason: "provider_unreachable", title: "Provider unreachable", message: message,
      provider: errorCode)
  }

  /// The problem that a restart of the daemon lost the operation in progress: the user has to
  /// repeat the step.
  package static let interrupted = Problem(
    reason: "interrupted", title: "Interrupted",
    message: "the daemon was restarted; please do this step again")
}

extension ProviderErrorCode {
  fileprivate func sentence(_ otherwise: String) -> String { message ?? otherwise }
}
