import UsherClient

/// The error of a call of ``FreedomID``, with the SDK's names and spelling (seed, table 2).
///
/// The daemon's page Freedom ID lists the causes of each error at the provider. The comments below
/// name the causes that lie between this program and the daemon. The presenter gets the message for
/// the person: ``FreedomIDEnd``.
public enum FreedomIDError: Error, Sendable, Equatable {
  /// A reply of the provider cannot be parsed, or an answer of the daemon cannot be decoded.
  case parsingError
  /// The API key differs from the one in the daemon's configuration.
  case incorrectApiKey
  /// Besides the provider's causes: the daemon refuses a parameter.
  case componentValidationError
  case dataProcessingError
  /// Besides the provider's causes: the daemon has an internal error; see its journal.
  case utilityError
  /// `requestSendingError` also means that the daemon limits the rate of this user's calls.
  case transmissionError(TransmissionErrors)
  /// `connectionError` also means that the daemon is away, or went away and did not come back in
  /// time.
  case networkError(NetworkError)
  /// Besides the provider's causes: a rule of the daemon's policy forbids the call.
  case accessDenied
  /// Besides the provider's causes: no SDK was created, the daemon has no provider of that name, or
  /// the provider's mode is not `device`.
  case configurationError
  case authError
  /// Besides the provider's causes: the daemon sent an error code that this library does not know.
  case unknownError
  /// The person or the app cancelled the authorization, or it expired.
  case userCanceled
  /// The list of grants is empty.
  case dataGrantsCanNotBeEmpty
}

/// An error in the transmission of a request (seed, "TransmissionErrors Structure").
public enum TransmissionErrors: String, Error, Sendable, Equatable, CaseIterable {
  case incorrectRequestStructure
  case identificationError
  case appIntegrityError
  /// Spelled as in the SDK.
  case autheticationError
  case requestSendingError
  case requestReceivingError
}

/// A network error (seed, "NetworkError Structure").
public enum NetworkError: String, Error, Sendable, Equatable, CaseIterable {
  case connectionError
  case streamError
  case codeError
  case bodyError
  case unknownError
}

// MARK: - Error codes of the daemon

extension FreedomIDError: CaseIterable {
  /// The cases without an associated value, then all values of the others.
  public static var allCases: [FreedomIDError] {
    [
      .parsingError, .incorrectApiKey, .componentValidationError, .dataProcessingError,
      .utilityError, .accessDenied, .configurationError, .authError, .unknownError, .userCanceled,
      .dataGrantsCanNotBeEmpty,
    ] + TransmissionErrors.allCases.map { .transmissionError($0) }
      + NetworkError.allCases.map { .networkError($0) }
  }

  /// The daemon's code for the error; a nested one is separated by a dot: `networkError.bodyError`.
  public var code: String {
    switch self {
    case .parsingError: "parsingError"
    case .incorrectApiKey: "incorrectApiKey"
    case .componentValidationError: "componentValidationError"
    case .dataProcessingError: "dataProcessingError"
    case .utilityError: "utilityError"
    case .transmissionError(let error): "transmissionError.\(error.rawValue)"
    case .networkError(let error): "networkError.\(error.rawValue)"
    case .accessDenied: "accessDenied"
    case .configurationError: "configurationError"
    case .authError: "authError"
    case .unknownError: "unknownError"
    case .userCanceled: "userCanceled"
    case .dataGrantsCanNotBeEmpty: "dataGrantsCanNotBeEmpty"
    }
  }

  /// Creates the error from the daemon's code; ``unknownError`` if the code is unknown.
  init(code: String) { self = Self.allCases.first { $0.code == code } ?? .unknownError }
}

extension FreedomIDError: CustomStringConvertible {
  public var description: String { code }
}

// MARK: - Errors of UsherClient

extension FreedomIDError {
  init(_ error: any Error) {
    switch error {
    case let error as FreedomIDError: self = error
    case is ConnectionError where KitError(error).kind == .unexpected: self = .parsingError
    default: self.init(KitError(error))
    }
  }
}

extension FreedomIDError: SDKError {
  /// Creates the error from the daemon's code, or the closest case if there is none.
  init(_ error: KitError) {
    if let provider = error.provider {
      self.init(code: provider.code)
      return
    }
    self =
      switch error.kind {
      case .invalidRequest: .componentValidationError
      case .notConfigured: .configurationError
      case .signInRequired, .attemptsExhausted: .authError
      case .notPermitted, .denied: .accessDenied
      case .expired, .cancelled: .userCanceled
      case .rateLimited: .transmissionError(.requestSendingError)
      case .unavailable: .networkError(.connectionError)
      case .nothingWaiting, .rejected: .unknownError
      case .unexpected: .utilityError
      }
  }
}
