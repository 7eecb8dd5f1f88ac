import UsherAPI
import UsherCore

/// The SDK's numbers for what went wrong, as far as a daemon has a use for them (contract §1.4; the
/// page Truecaller of the documentation says why there is none for the others).
enum TCError: Int {
  case appKeyMissing = 1
  case appLinkMissing = 2
  case userCancelled = 3
  case network = 9
  /// Whatever the server says that has no number of its own.
  case `internal` = 10
  case unauthorizedUser = 11
  case unauthorizedDeveloper = 12
  case userProfileContentNotValid = 13
  case badRequest = 14
  case verificationFailed = 15
  case invalidName = 18

  /// - Parameter refusal: What the server itself said.
  func word(_ provider: ProviderName, _ refusal: TruecallerRefusal? = nil) -> ProviderErrorCode {
    ProviderErrorCode(
      name: provider, code: String(rawValue), error: refusal?.code, message: refusal?.message)
  }
}

// How a verification ends without success.

extension Failure {
  /// What the app was set up with is not what is configured here.
  static func otherApp(_ error: TCError, _ what: String, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Another app",
      message: "\(what) is missing or is not the one configured", retryable: false,
      provider: error.word(provider))
  }

  static func impossible(_ number: ImpossibleNumber, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Not a phone number", message: number.message,
      retryable: true, provider: TCError.badRequest.word(provider))
  }

  static func refused(
    _ error: TCError, _ refusal: TruecallerRefusal, _ provider: ProviderName
  ) -> Failure {
    let word = error.word(provider, refusal)
    return switch error {
    case .badRequest:
      Failure(
        reason: .invalidRequest, title: "Refused by the provider", message: refusal.sentence,
        retryable: true, provider: word)
    case .appKeyMissing, .appLinkMissing, .userCancelled, .network, .internal, .unauthorizedUser,
      .unauthorizedDeveloper, .userProfileContentNotValid, .verificationFailed, .invalidName:
      Failure(
        reason: .providerRejected, title: "Refused by the provider", message: refusal.sentence,
        retryable: false, provider: word)
    }
  }

  /// A cap of the server's: of a day or of one verification.
  static func capped(_ refusal: TruecallerRefusal, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .attemptsExhausted, title: "Too many attempts", message: refusal.sentence,
      retryable: true, provider: TCError.internal.word(provider, refusal))
  }

  /// A code may have been sent, and the token it goes with is lost: only a person may ask for another.
  static func unknownSending(_ cause: String, _ word: ProviderErrorCode) -> Failure {
    var failure = Failure.unreachable("\(cause); whether a code was sent is not known", word)
    failure.retryable = false
    return failure
  }

  static func otherNumber(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .providerRejected, title: "Another phone number",
      message: "the provider speaks of another phone number than the one that was verified",
      retryable: false, provider: TCError.verificationFailed.word(provider))
  }

  /// - Parameter message: A sentence for people.
  static func badSignature(_ message: String, _ provider: ProviderName) -> Failure {
    Failure(
      reason: .providerRejected, title: "Not the provider's profile", message: message,
      retryable: false, provider: TCError.verificationFailed.word(provider))
  }

  /// - Parameter message: A sentence for people.
  static func unusable(
    _ message: String, _ error: TCError, _ provider: ProviderName
  ) -> Failure {
    Failure(
      reason: .providerProtocolError, title: "Unusable answer of the provider", message: message,
      retryable: false, provider: error.word(provider))
  }
}

// What leaves a verification where it is.

extension Problem {
  static func wrongCode(_ refusal: TruecallerRefusal, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "wrong_code", title: "Wrong code",
      message: refusal.message ?? "the provider does not accept this code",
      provider: TCError.internal.word(provider, refusal))
  }

  /// - Parameter refusal: Nil where the daemon's own clock says it.
  static func codeExpired(
    _ refusal: TruecallerRefusal? = nil, _ provider: ProviderName
  ) -> Problem {
    Problem(
      reason: "code_expired", title: "Code expired",
      message: "the time for this code is over: ask for another",
      provider: TCError.internal.word(provider, refusal))
  }

  static func tooEarly(_ wait: Duration?, _ message: String, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "rate_limited", title: "Too early", message: message,
      retryAfterMs: wait.map { Int($0.milliseconds) }, provider: TCError.internal.word(provider))
  }

  static func invalidName(_ message: String, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "invalid_name", title: "Not a name", message: message,
      provider: TCError.invalidName.word(provider))
  }

  static func unreachable(_ fault: TruecallerReplyError, _ provider: ProviderName) -> Problem {
    var problem = Problem.unreachable(fault.message)
    problem.provider = fault.word(provider)
    return problem
  }
}

extension TruecallerReplyError {
  func word(_ provider: ProviderName) -> ProviderErrorCode {
    switch self {
    case .network: TCError.network.word(provider)
    case .server(let refusal, after: _): TCError.internal.word(provider, refusal)
    }
  }
}
