import JSONRPC
import UsherAPI
import UsherCore

/// The error numbers of Truecaller's SDK that can occur in a daemon (provider contract §1.4). The
/// page Truecaller of the documentation explains why the others cannot.
enum TruecallerErrorCode: Int {
  case appKeyMissing = 1
  case appLinkMissing = 2
  case userCancelled = 3
  case network = 9
  /// Any error of the server that has no number of its own.
  case `internal` = 10
  case unauthorizedUser = 11
  case unauthorizedDeveloper = 12
  case userProfileContentNotValid = 13
  case badRequest = 14
  case verificationFailed = 15
  case invalidName = 18

  /// Returns the error as the client sees it.
  ///
  /// - Parameter refusal: The server's own refusal, whose code and message are added; nil if there
  ///   is none.
  func providerErrorCode(_ provider: ProviderName, _ refusal: TruecallerRefusal? = nil)
    -> ProviderErrorCode
  {
    ProviderErrorCode(
      name: provider, code: String(rawValue), error: refusal?.code, message: refusal?.message)
  }
}

// Failures of a phone verification.

extension Failure {
  /// The failure of a flow whose params name other app credentials than the configured ones.
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

  /// The failure of a flow that exceeds a limit of the server, per day or per verification.
  static func capped(_ refusal: TruecallerRefusal, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .attemptsExhausted, title: "Too many attempts", message: refusal.sentence,
      retryable: true, provider: TruecallerErrorCode.internal.providerErrorCode(provider, refusal))
  }

  /// The failure of a flow that may have had a code sent, but lost the token to verify it. It is
  /// not retryable, because only the user may request another code.
  static func unknownSending(_ cause: String, _ errorCode: ProviderErrorCode) -> Failure {
    .unreachable(
      "\(cause); whether a code was sent is not known", errorCode, retryable: false)
  }

  static func otherNumber(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .providerRejected, title: "Another phone number",
      message: "the provider's answer is about another phone number than the verified one",
      retryable: false, provider: TruecallerErrorCode.verificationFailed.providerErrorCode(provider)
    )
  }

  /// The failure of a flow whose profile has an invalid or malformed signature.
  ///
  /// - Parameter message: A user-facing sentence.
  static func badSignature(_ message: String, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .providerRejected, title: "Not the provider's profile", message: message,
      retryable: false, provider: TruecallerErrorCode.verificationFailed.providerErrorCode(provider)
    )
  }

  /// The failure of a flow whose reply from Truecaller cannot be used.
  ///
  /// - Parameter message: A user-facing sentence.
  static func unusable(
    _ message: String, _ error: TruecallerErrorCode, _ provider: ProviderName
  ) -> Failure {
    Failure(
      reason: .providerProtocolError, title: "Unusable answer of the provider", message: message,
      retryable: false, provider: error.providerErrorCode(provider))
  }
}

// Problems of a phone verification that do not end it.

extension Problem {
  static func wrongCode(_ refusal: TruecallerRefusal, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "wrong_code", title: "Wrong code",
      message: refusal.message ?? "the provider does not accept this code",
      provider: TruecallerErrorCode.internal.providerErrorCode(provider, refusal))
  }

  /// The problem of a code that has expired.
  ///
  /// - Parameter refusal: The server's refusal; nil if the code has expired by the daemon's clock.
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

  /// The problem of a name that was not written to the Truecaller profile.
  static func nameNotWritten(_ failure: Failure) -> Problem {
    Problem(
      reason: "name_not_written", title: "Name not written", message: failure.message,
      provider: failure.provider)
  }

  /// The problem as a member of a flow's result.
  var json: JSONValue {
    var members: [String: JSONValue] = [
      "reason": .string(reason), "title": .string(title), "message": .string(message),
    ]
    if let provider {
      var error: [String: JSONValue] = [
        "name": .string(provider.name.rawValue), "code": .string(provider.code),
      ]
      error["error"] = provider.error.map { .string($0) }
      error["message"] = provider.message.map { .string($0) }
      members["provider"] = .object(error)
    }
    return .object(members)
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
