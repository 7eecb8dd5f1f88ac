import UsherAPI
import UsherCore

/// The SDK's words for what went wrong: 13 of its result, two of which have 6 and 5 of their own (seed,
/// tables 2 to 4). The page FreedomID of the documentation says what produces each, and why some cannot
/// be met.
package enum FreedomIDWord: String, CaseIterable, Sendable {
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
  /// The SDK's spelling.
  case autheticationError = "transmissionError.autheticationError"
  case requestSendingError = "transmissionError.requestSendingError"
  case requestReceivingError = "transmissionError.requestReceivingError"
  case connectionError = "networkError.connectionError"
  case streamError = "networkError.streamError"
  case codeError = "networkError.codeError"
  case bodyError = "networkError.bodyError"
  case unknownNetworkError = "networkError.unknownError"

  /// - Parameter refusal: What the server itself said.
  func word(_ provider: ProviderName, _ refusal: FreedomIDRefusal? = nil) -> ProviderErrorCode {
    ProviderErrorCode(
      name: provider, code: rawValue, error: refusal?.code, message: refusal?.message)
  }
}

// How a flow of Freedom ID ends without success.

extension Failure {
  static func emptyGrants(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "No grants", message: "grants must name at least one",
      retryable: false, provider: FreedomIDWord.dataGrantsCanNotBeEmpty.word(provider))
  }

  static func flawed(_ flaw: GrantFlaw, _ provider: ProviderName) -> Failure {
    switch flaw {
    case .none: .emptyGrants(provider)
    case .unknown(let text): .invalid("there is no grant \"\(text)\"", provider)
    }
  }

  /// A parameter that cannot be; the sentence names it.
  static func invalid(_ message: String, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Not a valid request", message: message, retryable: false,
      provider: FreedomIDWord.componentValidationError.word(provider))
  }

  static func otherAPIKey(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Wrong API key",
      message: "the apiKey is not the one of this provider", retryable: false,
      provider: FreedomIDWord.incorrectApiKey.word(provider))
  }

  static func denied(
    _ message: String, _ provider: ProviderName, _ refusal: FreedomIDRefusal? = nil
  ) -> Failure {
    Failure(
      reason: .denied, title: "Permissions denied", message: refusal?.message ?? message,
      retryable: true, provider: FreedomIDWord.accessDenied.word(provider, refusal))
  }

  /// An answer that contradicts what was asked.
  static func contradiction(_ message: String, _ provider: ProviderName) -> Failure {
    .unusable(message, .dataProcessingError, provider)
  }

  static func unusable(
    _ message: String, _ word: FreedomIDWord, _ provider: ProviderName
  ) -> Failure {
    Failure(
      reason: .providerProtocolError, title: "Unusable answer of the provider", message: message,
      retryable: false, provider: word.word(provider))
  }

  /// The retries are used up.
  static func unreachable(_ fault: FreedomReplyError, _ provider: ProviderName) -> Failure {
    .unreachable(fault.message, fault.word.word(provider, fault.refusal))
  }

  /// A definite no that has no meaning of its own where it was said.
  ///
  /// - Parameter word: What it means there; nil where it means what it does everywhere.
  static func refused(
    _ refusal: FreedomIDRefusal, as word: FreedomIDWord? = nil, _ provider: ProviderName
  ) -> Failure {
    let word = word ?? refusal.word
    return switch word {
    case .accessDenied: .denied(refusal.sentence, provider, refusal)
    default:
      Failure(
        reason: refusal.isLocked ? .attemptsExhausted : .providerRejected,
        title: refusal.isLocked ? "Locked" : "Refused by the provider", message: refusal.sentence,
        retryable: refusal.isLocked, provider: word.word(provider, refusal))
    }
  }

  static func otherPerson(_ provider: ProviderName) -> Failure {
    var failure = Failure.otherPerson
    failure.provider = FreedomIDWord.authError.word(provider)
    return failure
  }
}

extension Problem {
  /// Tried again without anybody doing anything, or by doing the step once more.
  static func unreachable(_ fault: FreedomReplyError, _ provider: ProviderName) -> Problem {
    var problem = Problem.unreachable(fault.message)
    problem.provider = fault.word.word(provider, fault.refusal)
    return problem
  }
}
