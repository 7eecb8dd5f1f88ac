import UsherClient

/// The error of a call of ``BSA``.
public enum BSAError: Error, Sendable, Equatable {
  /// BSA or the daemon refused the call. The overload with callbacks calls ``BSA/OnFailed``.
  ///
  /// If BSA sent no rtCode, the value is 2002 for a malformed parameter; 2000 for another client
  /// key; 2008 if no person is registered; 3005 for too many wrong OTP numbers; 3006 if the OTP
  /// number has expired or none was requested; 9009 if local authentication failed or must come
  /// first; and 10001 otherwise, such as for an OTP number that was requested too early.
  ///
  /// - Parameters:
  ///   - message: A message for people.
  ///   - retryAfter: The time to wait before trying again, if it is known.
  case failed(rtCode: Int, message: String, retryAfter: Duration? = nil)
  /// The daemon or BSA cannot be reached now, or the answer was lost. The call may have been
  /// performed, unless the message says otherwise.
  case unreachable(message: String)
  /// An answer cannot be decoded, or the daemon has an internal error.
  case notUnderstood(message: String)
  /// The daemon has no provider of the configured name, or that provider does not support the call.
  case notConfigured(message: String)
  /// A rule of the daemon's policy, or the provider's configuration, forbids the call.
  case notPermitted(message: String)
  /// The task was cancelled, or another program cancelled the flow.
  case cancelled

  /// The rtCode; nil for all cases but ``failed(rtCode:message:retryAfter:)``. The overload with
  /// callbacks reports those cases to ``BSA/OnError``.
  public var rtCode: Int? {
    if case .failed(let rtCode, _, _) = self { rtCode } else { nil }
  }

  /// A message for people: lower case, no period, no secret.
  public var message: String {
    switch self {
    case .failed(_, let message, _), .unreachable(let message), .notUnderstood(let message),
      .notConfigured(let message), .notPermitted(let message):
      message
    case .cancelled: "it was cancelled"
    }
  }
}

extension BSAError: CustomStringConvertible {
  public var description: String { rtCode.map { "\(message) (rtCode \($0))" } ?? message }
}

extension BSAError {
  /// The error as a log line. It omits the message, which may contain text that the person typed.
  var line: String {
    switch self {
    case .failed(let rtCode, _, _): "failed with rtCode \(rtCode)"
    case .unreachable: "failed: no answer"
    case .notUnderstood: "failed: the answer cannot be understood"
    case .notConfigured: "failed: it is not configured"
    case .notPermitted: "failed: it is not permitted"
    case .cancelled: "was cancelled"
    }
  }
}

/// The rtCodes that this library uses if BSA sent none (page BSA in Usher.docc).
enum BSACode {
  static let clientKeyUnknown = 2000
  static let parameter = 2002
  static let notRegistered = 2008
  static let numberWrong = 3005
  static let invalid = 3006
  static let localAuthFailed = 9009
  static let api = 10001
}

// MARK: - Errors of UsherClient

extension BSAError: SDKError {
  /// Creates the error with BSA's rtCode, or with the closest one if BSA sent none.
  init(_ error: KitError) {
    switch error.kind {
    case .unavailable: self = .unreachable(message: error.message)
    case .unexpected: self = .notUnderstood(message: error.message)
    case .notConfigured: self = .notConfigured(message: error.message)
    case .notPermitted: self = .notPermitted(message: error.message)
    case .cancelled: self = .cancelled
    case .denied: self.init(error, error.provider?.error, or: BSACode.localAuthFailed)
    case .invalidRequest: self.init(error, error.provider?.code, or: BSACode.parameter)
    case .signInRequired: self.init(error, error.provider?.code, or: BSACode.notRegistered)
    case .attemptsExhausted: self.init(error, error.provider?.code, or: BSACode.numberWrong)
    case .expired, .nothingWaiting: self.init(error, error.provider?.code, or: BSACode.invalid)
    case .rejected, .rateLimited: self.init(error, error.provider?.code, or: BSACode.api)
    }
  }

  private init(_ error: KitError, _ code: String?, or nearest: Int) {
    self = .failed(
      rtCode: code.flatMap { Int($0) } ?? nearest,
      message: error.provider?.message ?? error.message, retryAfter: error.retryAfter)
  }
}
