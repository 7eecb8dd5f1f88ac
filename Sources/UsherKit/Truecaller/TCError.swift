import UsherCore

/// Why a verification, or an attempt at it, came to nothing.
public struct TCError: Error, Sendable, Equatable {
  private let code: TCTrueSDKErrorCode
  /// A sentence for people: the server's, or else the daemon's.
  public let message: String
  /// The server's own code where it sent one: the SDK's number says less.
  public let serverCode: String?
  /// When it makes sense to try again, where that is known.
  public let retryAfter: Duration?

  init(
    _ code: TCTrueSDKErrorCode, _ message: String, serverCode: String? = nil,
    retryAfter: Duration? = nil
  ) {
    self.code = code
    self.message = message
    self.serverCode = serverCode
    self.retryAfter = retryAfter
  }

  public func getErrorCode() -> TCTrueSDKErrorCode { code }
}

/// The SDK's numbers (provider contract §1.4). The daemon's page Truecaller tells what produces
/// each, and which cannot be met on Linux.
public enum TCTrueSDKErrorCode: Int, Sendable, Equatable, CaseIterable {
  case appKeyMissing = 1
  case appLinkMissing = 2
  case userCancelled = 3
  case userNotSignedIn = 4
  case sdkTooOld = 5
  case truecallerTooOld = 6
  case osNotSupported = 7
  case truecallerNotInstalled = 8
  case network = 9
  case `internal` = 10
  case unauthorizedUser = 11
  case unauthorizedDeveloper = 12
  case userProfileContentNotValid = 13
  case badRequest = 14
  case verificationFailed = 15
  case requestNonceMismatch = 16
  case viewDelegateNil = 17
  case invalidName = 18
  case universalLinkFailed = 19
  case urlSchemeMissing = 20
}

extension TCError: CustomStringConvertible {
  public var description: String { "\(message) (TCError \(code.rawValue))" }
}

extension TCError: SDKError {
  /// The daemon's number, or where it has none the nearest one.
  init(_ setback: KitError) {
    let word = setback.provider
    self.init(
      word.flatMap { Int($0.code) }.flatMap { TCTrueSDKErrorCode(rawValue: $0) }
        ?? TCTrueSDKErrorCode(setback.kind, setback.field),
      word?.message ?? setback.message, serverCode: word?.error, retryAfter: setback.retryAfter)
  }

  static var noViewDelegate: TCError {
    TCError(.viewDelegateNil, "viewDelegate is not set")
  }
}

extension TCTrueSDKErrorCode {
  /// - Parameter field: What was wrong. A code that cannot be one is no worse than a wrong code.
  fileprivate init(_ kind: KitError.Kind, _ field: String?) {
    self =
      switch kind {
      case .unavailable: .network
      case .cancelled, .expired: .userCancelled
      case .notPermitted: .unauthorizedDeveloper
      case .invalidRequest: field?.hasPrefix("input.") == true ? .internal : .badRequest
      case .notConfigured, .signInRequired, .nothingWaiting, .denied, .attemptsExhausted,
        .rejected, .rateLimited, .unexpected:
        .internal
      }
  }
}
