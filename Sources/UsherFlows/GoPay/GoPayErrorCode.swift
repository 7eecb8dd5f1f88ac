import UsherAPI
import UsherCore

/// The error numbers of GoPay's SDK (provider contract §3.3; the table Ends of the page GoPay of
/// the documentation).
enum GoPayErrorCode: Int, CaseIterable {
  case configuration = 2201
  case unauthorized = 2202
  case connection = 2203
  case notWhitelisted = 2204
  /// Any error that has no number of its own.
  case unknown = 2205
  case fieldMissing = 2206
  case cancelled = 2207
  case exchangeFailed = 2208
  case exchangeTimedOut = 2209
  case camera = 2210
  case permission = 2211
  case verification = 2212
  case helpWanted = 2213
  case security = 2214
  case api = 2215

  /// The meaning of the error, as a headline for users.
  var title: String { traits.title }

  /// Whether the SDK lets the app try again.
  var isRetryable: Bool { traits.isRetryable }

  /// The reason of the failure of a flow that ends with this error, unless GoPay's reply tells a
  /// more specific one.
  var reason: Failure.Reason { traits.reason }

  private var traits: (title: String, isRetryable: Bool, reason: Failure.Reason) {
    switch self {
    case .configuration: ("Configuration invalid", false, .providerRejected)
    case .unauthorized: ("Token expired or unauthorised", true, .providerRejected)
    case .connection: ("Connection error", true, .providerUnreachable)
    case .notWhitelisted: ("Feature not whitelisted", false, .providerRejected)
    case .unknown: ("Unknown", false, .providerRejected)
    case .fieldMissing: ("Required field missing", false, .invalidRequest)
    case .cancelled: ("User cancelled", true, .denied)
    case .exchangeFailed: ("Exchange failed", false, .exchangeFailed)
    case .exchangeTimedOut: ("Exchange timed out", true, .exchangeTimedOut)
    case .camera: ("Camera unavailable", true, .providerRejected)
    case .permission: ("Permission denied", true, .providerRejected)
    case .verification: ("Verification failed", true, .providerRejected)
    case .helpWanted: ("User tapped Help", true, .denied)
    case .security: ("Security check", false, .providerRejected)
    case .api: ("API error", true, .providerRejected)
    }
  }

  /// Creates the error for the code with which GoPay reports a failed capture.
  init(capture errorCode: String?) {
    self =
      switch errorCode {
      case "CAMERA": .camera
      case "PERMISSION": .permission
      case "NETWORK": .connection
      case "USER_CANCELLED": .cancelled
      case "VERIFICATION": .verification
      case "HELP_CLICKED": .helpWanted
      case "SECURITY": .security
      case "API": .api
      default: .unknown
      }
  }

  /// Creates the error for a submission that ended with the status ERROR. A reason that names a
  /// capture error has the number of that error. Any other is a failed verification: contract §3.3
  /// has 2212 for that, and the SDK lets the app try again.
  init(ended reasonCode: String?) {
    let capture = GoPayErrorCode(capture: reasonCode)
    self = capture == .unknown ? .verification : capture
  }

  /// Returns the error as the client sees it.
  ///
  /// - Parameters:
  ///   - code: The server's code, cleaned for display.
  ///   - message: The server's sentence, cleaned for display.
  func providerErrorCode(
    _ provider: ProviderName, code: String? = nil, message: String? = nil
  ) -> ProviderErrorCode {
    ProviderErrorCode(
      name: provider, code: "GPE-\(rawValue)", error: code, title: title, message: message)
  }
}

// Failures of the flow that verifies an identity.

extension Failure {
  /// Returns the failure for an error of the SDK.
  ///
  /// - Parameters:
  ///   - message: A sentence for users, without secrets.
  ///   - errorCode: The server's error; nil if the server sent none.
  static func gopay(
    _ error: GoPayErrorCode, _ message: String, _ provider: ProviderName,
    errorCode: ProviderErrorCode? = nil, reason: Failure.Reason? = nil
  ) -> Failure {
    Failure(
      reason: reason ?? error.reason, title: error.title, message: message,
      retryable: error.isRetryable, provider: errorCode ?? error.providerErrorCode(provider))
  }

  /// The failure of a flow whose required parameter is absent or blank.
  static func missing(field: String, _ provider: ProviderName) -> Failure {
    gopay(.fieldMissing, "\(field) is missing or blank", provider)
  }

  /// The failure of a flow whose auth code the app or the backend could not redeem.
  ///
  /// - Parameter reason: The reason as the app or the backend reports it.
  static func exchangeFailed(_ reason: String, _ provider: ProviderName) -> Failure {
    let stated = ProviderText.shown(reason)
    return gopay(
      .exchangeFailed, stated ?? "the exchange of the credential failed", provider,
      errorCode: GoPayErrorCode.exchangeFailed.providerErrorCode(provider, message: stated))
  }

  static func exchangeTimedOut(_ provider: ProviderName) -> Failure {
    gopay(.exchangeTimedOut, "the credential was not exchanged in time", provider)
  }

  /// The failure of a flow whose submission ended with the status ERROR.
  static func ended(_ reasonCode: String?, _ provider: ProviderName) -> Failure {
    let error = GoPayErrorCode(ended: reasonCode)
    return gopay(
      error, "the provider could not decide about the submission", provider,
      errorCode: error.providerErrorCode(provider, code: reasonCode))
  }

  /// The failure of a flow whose user did not submit card and face in time. The SDK has no code for
  /// that: the verification has failed and may be tried again, and the user has cancelled nothing.
  static func captureTimedOut(_ seconds: Int, _ provider: ProviderName) -> Failure {
    gopay(
      .verification, "card and face were not submitted within \(seconds) seconds", provider,
      reason: .expired)
  }

  /// The failure of a flow whose exchange names no user.
  static func exchangedForNobody(_ provider: ProviderName) -> Failure {
    gopay(.exchangeFailed, "the exchange returned no userCorrelationId", provider)
  }

  /// The failure of a flow whose named account belongs to another user of GoPay.
  static func otherCorrelation(_ provider: ProviderName) -> Failure {
    gopay(
      .security, "the credential was exchanged for another user than the account's", provider)
  }

  /// The failure of a flow whose log-in returned no auth code.
  ///
  /// - Parameter answer: The redirect. Its texts are cleaned already.
  static func logIn(_ answer: AuthorizationResponse, _ provider: ProviderName) -> Failure {
    let error: GoPayErrorCode =
      ["abort", "access_denied"].contains(answer.error) ? .cancelled : .unknown
    let errorCode = error.providerErrorCode(
      provider, code: answer.error, message: answer.errorDescription)
    let otherwise =
      error == .cancelled ? "the log-in was cancelled" : "the log-in returned no code"
    return gopay(error, answer.errorDescription ?? otherwise, provider, errorCode: errorCode)
  }

  /// The failure of a flow whose reply from GoPay cannot be read or must not be used.
  ///
  /// - Parameter message: A sentence for users.
  static func unusable(gopay message: String, _ provider: ProviderName) -> Failure {
    gopay(.api, message, provider, reason: .providerProtocolError)
  }
}

extension GoPayRefusal {
  func failure(_ provider: ProviderName) -> Failure {
    .gopay(error, sentence, provider, errorCode: providerErrorCode(provider))
  }

  func providerErrorCode(_ provider: ProviderName) -> ProviderErrorCode {
    error.providerErrorCode(provider, code: code, message: message)
  }
}

extension GoPayReplyError {
  /// Returns the failure of a flow after its last attempt failed with this error.
  func failure(_ provider: ProviderName) -> Failure {
    .gopay(
      error, message, provider, errorCode: providerErrorCode(provider), reason: .providerUnreachable
    )
  }

  func providerErrorCode(_ provider: ProviderName) -> ProviderErrorCode {
    error.providerErrorCode(provider, code: refusal?.code, message: refusal?.message)
  }
}

// Problems of the flow that do not end it.

extension Problem {
  static func unreachable(_ fault: GoPayReplyError, _ provider: ProviderName) -> Problem {
    .unreachable(fault.message, fault.providerErrorCode(provider))
  }

  /// The problem of an auth code that may be spent, because the reply to an earlier attempt to
  /// redeem it was lost: the flow gets another code.
  static func codeMayBeSpent(_ refusal: GoPayRefusal, _ provider: ProviderName) -> Problem {
    .unreachable(
      "the answer of the exchange was lost: another auth code is needed",
      refusal.providerErrorCode(provider))
  }
}
