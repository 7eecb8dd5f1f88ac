import UsherAPI
import UsherCore

/// The error codes of the Freedom ID SDK: 13 results, two of which have 6 and 5 variants (SDK
/// documentation, tables 2 to 4). The page FreedomID in Usher.docc gives the cause of each, and the
/// reason why some cannot occur.
package enum FreedomIDErrorCode: String, CaseIterable, Sendable {
  case parsingError
  case incorrectApiKey
  case componentValidationError
  case dataProcessingError
  case utilityError
  case accessDenied
  case configurationError
  case authError
  case unknownError
  case userCanceled
  case dataGrantsCanNotBeEmpty
  case incorrectRequestStructure = "transmissionError.incorrectRequestStructure"
  case identificationError = "transmissionError.identificationError"
  case appIntegrityError = "transmissionError.appIntegrityError"
  /// The SDK misspells this name.
  case autheticationError = "transmissionError.autheticationError"
  case requestSendingError = "transmissionError.requestSendingError"
  case requestReceivingError = "transmissionError.requestReceivingError"
  case connectionError = "networkError.connectionError"
  case streamError = "networkError.streamError"
  case codeError = "networkError.codeError"
  case bodyError = "networkError.bodyError"
  case unknownNetworkError = "networkError.unknownError"

  /// Returns the error as the client sees it.
  ///
  /// - Parameter refusal: The server's own refusal, whose code and message are added; nil if there
  ///   is none.
  func providerErrorCode(_ provider: ProviderName, _ refusal: FreedomIDRefusal? = nil)
    -> ProviderErrorCode
  {
    ProviderErrorCode(
      name: provider, code: rawValue, error: refusal?.code, message: refusal?.message)
  }
}

// Failures of Freedom ID flows.

extension Failure {
  static func emptyGrants(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "No grants", message: "grants must name at least one",
      retryable: false,
      provider: FreedomIDErrorCode.dataGrantsCanNotBeEmpty.providerErrorCode(provider))
  }

  /// The failure of a flow with an invalid parameter, which the message names.
  static func invalid(_ message: String, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Not a valid request", message: message, retryable: false,
      provider: FreedomIDErrorCode.componentValidationError.providerErrorCode(provider))
  }

  static func otherAPIKey(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Wrong API key",
      message: "the apiKey is not the one configured for this provider", retryable: false,
      provider: FreedomIDErrorCode.incorrectApiKey.providerErrorCode(provider))
  }

  static func denied(
    _ message: String, _ provider: ProviderName, _ refusal: FreedomIDRefusal? = nil
  ) -> Failure {
    Failure(
      reason: .denied, title: "Permissions denied", message: refusal?.message ?? message,
      retryable: true,
      provider: FreedomIDErrorCode.accessDenied.providerErrorCode(provider, refusal))
  }

  /// The failure of a flow whose reply contradicts the request.
  static func contradiction(_ message: String, _ provider: ProviderName) -> Failure {
    .unusable(message, .dataProcessingError, provider)
  }

  static func unusable(
    _ message: String, _ errorCode: FreedomIDErrorCode, _ provider: ProviderName
  ) -> Failure {
    Failure(
      reason: .providerProtocolError, title: "Unusable answer of the provider", message: message,
      retryable: false, provider: errorCode.providerErrorCode(provider))
  }

  static func unusable(_ flaw: FreedomIDFlaw, _ provider: ProviderName) -> Failure {
    .unusable(flaw.message, flaw.errorCode, provider)
  }

  /// The failure of a flow that could not reach Freedom ID in any attempt.
  static func unreachable(_ fault: FreedomReplyError, _ provider: ProviderName) -> Failure {
    .unreachable(fault.message, fault.errorCode.providerErrorCode(provider, fault.refusal))
  }

  /// The failure of a flow that Freedom ID definitely refused.
  ///
  /// - Parameter errorCode: The SDK's error code for this call; nil for the one that the refusal
  ///   has for any call.
  static func refused(
    _ refusal: FreedomIDRefusal, as errorCode: FreedomIDErrorCode? = nil, _ provider: ProviderName
  ) -> Failure {
    let errorCode = errorCode ?? refusal.errorCode
    return switch errorCode {
    case .accessDenied: .denied(refusal.sentence, provider, refusal)
    default:
      Failure(
        reason: refusal.isLocked ? .attemptsExhausted : .providerRejected,
        title: refusal.isLocked ? "Locked" : "Refused by the provider", message: refusal.sentence,
        retryable: refusal.isLocked, provider: errorCode.providerErrorCode(provider, refusal))
    }
  }

  static func otherPerson(_ provider: ProviderName) -> Failure {
    .rejected(
      Failure.otherPerson.message, FreedomIDErrorCode.authError.providerErrorCode(provider))
  }
}

extension Problem {
  /// The problem of a step while Freedom ID is unreachable. The daemon retries the call, or the
  /// user repeats the step.
  static func unreachable(_ fault: FreedomReplyError, _ provider: ProviderName) -> Problem {
    .unreachable(fault.message, fault.errorCode.providerErrorCode(provider, fault.refusal))
  }
}
