import UsherCore

/// The error of a phone verification, or of one attempt in it.
public struct TCError: Error, Sendable, Equatable {
  let code: TCTrueSDKErrorCode
  /// A message for people, from Truecaller's server or else from the daemon.
  public let message: String
  /// The code of Truecaller's server, which is more specific than the SDK's; nil if the server sent
  /// none.
  public private(set) var serverCode: String?
  /// The time to wait before trying again, if it is known.
  public private(set) var retryAfter: Duration?

  public func getErrorCode() -> TCTrueSDKErrorCode { code }
}

/// The error codes of the SDK (provider contract §1.4). The page Truecaller in Usher.docc lists the
/// causes of each, and the codes that do not occur on Linux.
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
  /// Creates the error with the daemon's code, or with the closest code if there is none.
  init(_ error: KitError) {
    let provider = error.provider
    code =
      provider.flatMap { Int($0.code) }.flatMap { TCTrueSDKErrorCode(rawValue: $0) }
      ?? TCTrueSDKErrorCode(error.kind, error.field)
    message = provider?.message ?? error.message
    serverCode = provider?.error
    retryAfter = error.retryAfter
  }
}

extension TCTrueSDKErrorCode {
  /// Creates the code for an error that has none of Truecaller.
  ///
  /// - Parameter field: The wrong parameter. A malformed input, such as a code that is too short,
  ///   is reported like a wrong one (`internal`).
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
