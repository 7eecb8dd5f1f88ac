import UsherAPI
import UsherCore

/// The SDK's error numbers that apply to a daemon (contract §1.4). The page Truecaller of the
/// documentation explains why the others do not.
enum TruecallerErrorCode: Int {
  case appKeyMissing = 1
  case appLinkMissing = 2
  case userCancelled = 3
  case network = 9
  /// Any error of the server without a number of its own.
  case `internal` = 10
  case unauthorizedUser = 11
  case unauthorizedDeveloper = 12
  case userProfileContentNotValid = 13
  case badRequest = 14
  case verificationFailed = 15
  case invalidName = 18

  /// - Parameter refusal: The server's own refusal, if there is one.
  func providerErrorCode(_ provider: ProviderName, _ refusal: TruecallerRefusal? = nil)
    -> ProviderErrorCode
  {
    ProviderErrorCode(
      name: provider, code: String(rawValue), error: refusal?.code, message: refusal?.message)
  }
}

// Failures of a verification.

extension Failure {
  /// The app's credentials differ from those that are configured here.
  static func otherApp(_ error: TruecallerErrorCode, _ what: String, _ provider: ProviderName)
    -> Failure
  {
    Failure(
      reason: .invalidRequest, title: "Another app",
      message: "\(what) is missing or is not the one configured", retryable: false,
      provider: error.providerErrorCode(provider))
  }

  static func impossible(_ number: InvalidValue, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Not a phone number", message: number.message,
      retryable: true, provider: TruecallerErrorCode.badRequest.providerErrorCode(provider))
  }

  static func refused(
    _ error: TruecallerErrorCode, _ refusal: TruecallerRefusal, _ provider: ProviderName
  ) -> Failure {
    let isBadRequest = error == .badRequest
    return Failure(
      reason: isBadRequest ? .invalidRequest : .providerRejected,
      title: "Refused by the provider", message: refusal.sentence, retryable: isBadRequest,
      provider: error.providerErrorCode(provider, refusal))
  }

  /// A limit of the server is exceeded: per day or per verification.
  static func capped(_ refusal: TruecallerRefusal, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .attemptsExhausted, title: "Too many attempts", message: refusal.sentence,
      retryable: true, provider: TruecallerErrorCode.internal.providerErrorCode(provider, refusal))
  }

  /// A code may have been sent, and the verification token is lost. The failure is not retryable,
  /// because only the user may request another code.
  static func unknownSending(_ cause: String, _ errorCode: ProviderErrorCode) -> Failure {
    var failure = Failure.unreachable("\(cause); whether a code was sent is not known", errorCode)
    failure.retryable = false
    return failure
  }

  static func otherNumber(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .providerRejected, title: "Another phone number",
      message: "the provider's answer is about another phone number than the verified one",
      retryable: false, provider: TruecallerErrorCode.verificationFailed.providerErrorCode(provider)
    )
  }

  /// The profile's signature is invalid or malformed.
  ///
  /// - Parameter message: A user-facing sentence.
  static func badSignature(_ message: String, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .providerRejected, title: "Not the provider's profile", message: message,
      retryable: false, provider: TruecallerErrorCode.verificationFailed.providerErrorCode(provider)
    )
  }

  /// - Parameter message: A user-facing sentence.
  static func unusable(
    _ message: String, _ error: TruecallerErrorCode, _ provider: ProviderName
  ) -> Failure {
    Failure(
      reason: .providerProtocolError, title: "Unusable answer of the provider", message: message,
      retryable: false, provider: error.providerErrorCode(provider))
  }
}

// Problems that leave the verification in its state.

extension Problem {
  static func wrongCode(_ refusal: TruecallerRefusal, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "wrong_code", title: "Wrong code",
      message: refusal.message ?? "the provider does not accept this code",
      provider: TruecallerErrorCode.internal.providerErrorCode(provider, refusal))
  }

  /// - Parameter refusal: Nil if the code expired by the daemon's clock.
  static func codeExpired(
    _ refusal: TruecallerRefusal? = nil, _ provider: ProviderName
  ) -> Problem {
    Problem(
      reason: "code_expired", title: "Code expired",
      message: "this code has expired: request another",
      provider: TruecallerErrorCode.internal.providerErrorCode(provider, refusal))
  }

  static func tooEarly(_ wait: Duration?, _ message: String, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "rate_limited", title: "Too early", message: message,
      retryAfterMs: wait.map { Int($0.milliseconds) },
      provider: TruecallerErrorCode.internal.providerErrorCode(provider))
  }

  static func invalidName(_ message: String, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "invalid_name", title: "Not a name", message: message,
      provider: TruecallerErrorCode.invalidName.providerErrorCode(provider))
  }

  static func unreachable(_ fault: TruecallerReplyError, _ provider: ProviderName) -> Problem {
    .unreachable(fault.message, fault.providerErrorCode(provider))
  }
}

extension TruecallerReplyError {
  func failure(_ provider: ProviderName) -> Failure {
    .unreachable(message, providerErrorCode(provider))
  }

  func providerErrorCode(_ provider: ProviderName) -> ProviderErrorCode {
    let error: TruecallerErrorCode = refusal == nil ? .network : .internal
    return error.providerErrorCode(provider, refusal)
  }
}
