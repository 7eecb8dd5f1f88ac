import UsherClient
import UsherCore

/// Why a call of ``BSA`` came to nothing.
public enum BSAError: Error, Sendable, Equatable {
  /// It was refused: what the callbacks tell by ``BSA/OnFailed``.
  ///
  /// Where BSA has said no rtCode, it is: 2002 a parameter that cannot be; 2008 nobody has registered;
  /// 3005 too many wrong numbers; 3006 the number's time is over, or none was requested; 9009 local
  /// authentication did not succeed, or has to come first; 10001 otherwise, such as a number that was
  /// requested too early.
  ///
  /// - Parameters:
  ///   - message: A sentence for people.
  ///   - retryAfter: When it makes sense to try again, where that is known.
  case failed(rtCode: Int, message: String, retryAfter: Duration? = nil)
  /// The daemon or BSA cannot be reached now, or the answer got lost. Whether the call was carried
  /// out is then not known, unless the message says so.
  case unreachable(message: String)
  /// An answer that cannot be understood, or a fault of the daemon.
  case notUnderstood(message: String)
  /// The daemon knows no such provider, or no such call of it.
  case notConfigured(message: String)
  /// A rule of this machine, or of the provider's configuration, forbids it.
  case notPermitted(message: String)
  /// The task was cancelled, or the flow was by somebody else.
  case cancelled

  /// BSA's code; nil where it got no answer: what the callbacks tell by ``BSA/OnError``.
  public var rtCode: Int? {
    if case .failed(let rtCode, _, _) = self { rtCode } else { nil }
  }

  /// A sentence for people: lower case, no period, no secret.
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
  /// For the log: without the message, which may name what the person typed.
  var line: String {
    switch self {
    case .failed(let rtCode, _, _): "failed with rtCode \(rtCode)"
    case .unreachable: "failed: nobody answered"
    case .notUnderstood: "failed: the answer cannot be understood"
    case .notConfigured: "failed: it is not configured"
    case .notPermitted: "failed: it is not permitted"
    case .cancelled: "was cancelled"
    }
  }
}

/// The rtCodes that stand for what BSA has not said (the daemon's page BSA).
enum BSACode {
  static let clientKeyUnknown = 2000
  static let parameter = 2002
  static let notRegistered = 2008
  static let numberWrong = 3005
  static let invalid = 3006
  static let localAuthFailed = 9009
  static let api = 10001
}

// MARK: - What clients throw

extension BSAError {
  init(_ error: any Error) { self = error as? BSAError ?? BSAError(KitError(error)) }
}

extension BSAError: SDKError {
  /// BSA's code, or where it has said none the nearest one.
  init(_ setback: KitError) {
    switch setback.kind {
    case .unavailable: self = .unreachable(message: setback.message)
    case .unexpected: self = .notUnderstood(message: setback.message)
    case .notConfigured: self = .notConfigured(message: setback.message)
    case .notPermitted: self = .notPermitted(message: setback.message)
    case .cancelled: self = .cancelled
    case .denied: self.init(setback, setback.provider?.error, or: BSACode.localAuthFailed)
    case .invalidRequest: self.init(setback, setback.provider?.code, or: BSACode.parameter)
    case .signInRequired: self.init(setback, setback.provider?.code, or: BSACode.notRegistered)
    case .attemptsExhausted: self.init(setback, setback.provider?.code, or: BSACode.numberWrong)
    case .expired, .nothingWaiting: self.init(setback, setback.provider?.code, or: BSACode.invalid)
    case .rejected, .rateLimited: self.init(setback, setback.provider?.code, or: BSACode.api)
    }
  }

  private init(_ setback: KitError, _ code: String?, or nearest: Int) {
    self = .failed(
      rtCode: code.flatMap { Int($0) } ?? nearest,
      message: setback.provider?.message ?? setback.message, retryAfter: setback.retryAfter)
  }
}

/// Runs what asks the daemon.
func asBSA<Value: Sendable>(_ body: () async throws -> Value) async throws(BSAError) -> Value {
  do {
    return try await body()
  } catch {
    throw BSAError(error)
  }
}
