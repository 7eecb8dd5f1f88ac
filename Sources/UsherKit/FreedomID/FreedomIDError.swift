import UsherClient
import UsherCore

/// Why a call of ``FreedomID`` came to nothing: the SDK's words, in its spelling (seed, table 2).
///
/// The daemon's page Freedom ID tells what produces each. What goes wrong between this program and
/// the daemon has the word that stands at the case. Sentences for the person are told to the
/// presenter: ``FreedomIDEnd``.
public enum FreedomIDError: Error, Sendable, Equatable {
  /// Also: what the daemon answers cannot be read.
  case parsingError
  case incorrectApiKey
  /// Also: the daemon refuses a parameter.
  case componentValidationError
  case dataProcessingError
  /// The daemon, which stands in for the SDK's own helpers, has a fault: its journal has more.
  case utilityError
  /// Also `requestSendingError`: the daemon takes no more calls of this user for now.
  case transmissionError(TransmissionErrors)
  /// Also `connectionError`: the daemon is away, or went away and did not come back.
  case networkError(NetworkError)
  /// Also: a rule of this machine does not allow the call.
  case accessDenied
  /// Also: nothing was created, the daemon knows no provider of that name, or it is none of mode
  /// `device`.
  case configurationError
  case authError
  /// Also: a word of the daemon's that is not known here.
  case unknownError
  /// The person gave up, the app did, or the time was over.
  case userCanceled
  case dataGrantsCanNotBeEmpty
}

/// What went wrong in the transmission of a request (seed, "TransmissionErrors Structure").
public enum TransmissionErrors: String, Error, Sendable, Equatable, CaseIterable {
  case incorrectRequestStructure
  case identificationError
  case appIntegrityError
  /// The SDK's spelling.
  case autheticationError
  case requestSendingError
  case requestReceivingError
}

/// What went wrong in the network (seed, "NetworkError Structure").
public enum NetworkError: String, Error, Sendable, Equatable, CaseIterable {
  case connectionError
  case streamError
  case codeError
  case bodyError
  case unknownError
}

// MARK: - Words

extension FreedomIDError: CaseIterable {
  /// The plain ones, then each of the nested ones.
  public static var allCases: [FreedomIDError] {
    [
      .parsingError, .incorrectApiKey, .componentValidationError, .dataProcessingError,
      .utilityError, .accessDenied, .configurationError, .authError, .unknownError, .userCanceled,
      .dataGrantsCanNotBeEmpty,
    ] + TransmissionErrors.allCases.map { .transmissionError($0) }
      + NetworkError.allCases.map { .networkError($0) }
  }

  /// As the daemon spells it, nested ones dotted: `networkError.bodyError`.
  public var word: String {
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

  /// ``unknownError`` for a word that is none.
  init(word: String) { self = Self.allCases.first { $0.word == word } ?? .unknownError }
}

extension FreedomIDError: CustomStringConvertible {
  public var description: String { word }
}

// MARK: - What clients throw

extension FreedomIDError {
  init(_ error: any Error) {
    switch error {
    case let error as FreedomIDError: self = error
    case let failure as ConnectionError where failure.isUnreadable: self = .parsingError
    default: self.init(KitError(error))
    }
  }
}

extension FreedomIDError: SDKError {
  /// The daemon's word, or where it has none the nearest one.
  init(_ setback: KitError) {
    if let word = setback.provider {
      self.init(word: word.code)
      return
    }
    self =
      switch setback.kind {
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

extension ConnectionError {
  fileprivate var isUnreadable: Bool {
    switch kind {
    case .garbled, .replyTooLarge, .incompatible: true
    case .noSocket, .refused, .notPermitted, .badPath, .busy, .lost, .closed, .other: false
    }
  }
}
