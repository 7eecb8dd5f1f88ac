import UsherClient

/// The error of a call of ``FreedomID``, with the SDK's names and spelling (SDK documentation,
/// table 2).
///
/// The page FreedomID of the daemon's documentation lists the causes of each error at the provider.
/// The comments below name the causes that lie between this program and the daemon. The presenter
/// gets the message for the person: ``FreedomIDEnd``.
public enum FreedomIDError: Error, Sendable, Equatable {
  /// A reply of the provider cannot be parsed, or an answer of the daemon cannot be decoded.
  case parsingError
  /// The API key that the app passed differs from the one in the daemon's configuration.
  case incorrectApiKey
  /// Freedom ID reports the error, or the daemon refuses a parameter.
  case componentValidationError
  case dataProcessingError
  /// Freedom ID reports the error, or the daemon has an internal error, which its journal explains.
  case utilityError
  /// An error in the transmission to Freedom ID. `requestSendingError` means that a request could
  /// not be sent to the daemon: it is too large, or the daemon limits the rate of the user's calls.
  case transmissionError(TransmissionErrors)
  /// A network error. `connectionError` also means that the daemon cannot be reached, or stopped
  /// during the call and was not restarted in time. `unknownError` means that the connection to the
  /// daemon failed for a reason that this library does not know.
  case networkError(NetworkError)
  /// The person did not grant all that the app asked for, Freedom ID reports the error, or a rule
  /// of the daemon's policy forbids the call.
  case accessDenied
  /// Freedom ID reports the error; or no ``FreedomID`` object was created, the daemon has no
  /// provider of that name, or the provider's mode has pages and the presenter opens none.
  case configurationError
  case authError
  /// Freedom ID reports the error, or the daemon sent an error code that this library does not
  /// know.
  case unknownError
  /// The person or the app cancelled the authorization, or it expired.
  case userCanceled
  /// The list of grants that the app requests is empty.
  case dataGrantsCanNotBeEmpty
}

/// An error in the transmission of a request (SDK documentation, "TransmissionErrors Structure").
public enum TransmissionErrors: String, Error, Sendable, Equatable, CaseIterable {
  case incorrectRequestStructure
  case identificationError
  case appIntegrityError
  /// The SDK misspells this name.
  case autheticationError
  case requestSendingError
  case requestReceivingError
}

/// A network error (SDK documentation, "NetworkError Structure").
public enum NetworkError: String, Error, Sendable, Equatable, CaseIterable {
  case connectionError
  case streamError
  case codeError
  case bodyError
  case unknownError
}

// MARK: - Error codes of the daemon

extension FreedomIDError: CaseIterable {
  /// All values: the cases without an associated value, then each value of the other cases.
  public static var allCases: [FreedomIDError] {
    [
      .parsingError, .incorrectApiKey, .componentValidationError, .dataProcessingError,
      .utilityError, .accessDenied, .configurationError, .authError, .unknownError, .userCanceled,
      .dataGrantsCanNotBeEmpty,
    ] + TransmissionErrors.allCases.map { .transmissionError($0) }
      + NetworkError.allCases.map { .networkError($0) }
  }

  /// The daemon's code for the error. The code of a nested error has two parts:
  /// `networkError.bodyError`.
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
  init(code: String) {
    // In mode `oidc` a refusal on the provider's page has OAuth's code (RFC 6749 §4.1.2.1).
    let unknown = code == "access_denied" ? FreedomIDError.accessDenied : .unknownError
    self = Self.allCases.first { $0.code == code } ?? unknown
  }
}

extension FreedomIDError: CustomStringConvertible {
  public var description: String { code }
}

// MARK: - Errors of UsherClient

extension FreedomIDError {
  init(_ error: any Error) {
    switch error {
    case let error as FreedomIDError: self = error
    case let error as ConnectionError where error.kind == .other:
      self = .networkError(.unknownError)
    case is ConnectionError where KitError(error).kind == .unexpected: self = .parsingError
    case let error as UsherError where error.reason == .messageTooLarge:
      self = .transmissionError(.requestSendingError)
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
