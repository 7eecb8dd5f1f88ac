import UsherCore

/// The error of a call of ``FeatureManager`` (provider contract §3.3). It contains no secret.
public struct FeatureError: Error, Sendable, Equatable {
  /// The SDK's code, such as `GPE-2206`.
  public let code: String
  /// The meaning of the code, such as `Required field missing`.
  public let title: String
  /// A message for people, from GoPay's server or else from the daemon. With GPE-2208 it contains
  /// the reason for which the exchange failed.
  public let message: String
  /// The code of GoPay's server, which is more specific than the SDK's; nil if the server sent
  /// none.
  public let serverCode: String?
  /// The time to wait before trying again, if it is known.
  public let retryAfter: Duration?

  /// The code as a case; nil if the daemon sent a code that this library does not know.
  public var kind: FeatureErrorCode? { FeatureErrorCode(rawValue: code) }

  /// Whether another call of `verify` with a new request may succeed.
  public var isRetryable: Bool { kind?.isRetryable ?? false }
}

extension FeatureError: CustomStringConvertible {
  public var description: String { "\(code) \(title): \(message)" }
}

/// The error codes of GoPay's SDK. The page GoPay of the daemon's documentation lists the causes of
/// each.
public enum FeatureErrorCode: String, Sendable, Equatable, CaseIterable {
  case configurationInvalid = "GPE-2201"
  case tokenExpired = "GPE-2202"
  case connection = "GPE-2203"
  case notWhitelisted = "GPE-2204"
  case unknown = "GPE-2205"
  case requiredFieldMissing = "GPE-2206"
  case userCancelled = "GPE-2207"
  case exchangeFailed = "GPE-2208"
  case exchangeTimedOut = "GPE-2209"
  case cameraUnavailable = "GPE-2210"
  case permissionDenied = "GPE-2211"
  case verificationFailed = "GPE-2212"
  case helpTapped = "GPE-2213"
  case securityCheck = "GPE-2214"
  case api = "GPE-2215"

  /// The meaning of the code, as the daemon and the provider contract phrase it.
  public var title: String {
    switch self {
    case .configurationInvalid: "Configuration invalid"
    case .tokenExpired: "Token expired or unauthorised"
    case .connection: "Connection error"
    case .notWhitelisted: "Feature not whitelisted"
    case .unknown: "Unknown"
    case .requiredFieldMissing: "Required field missing"
    case .userCancelled: "User cancelled"
    case .exchangeFailed: "Exchange failed"
    case .exchangeTimedOut: "Exchange timed out"
    case .cameraUnavailable: "Camera unavailable"
    case .permissionDenied: "Permission denied"
    case .verificationFailed: "Verification failed"
    case .helpTapped: "User tapped Help"
    case .securityCheck: "Security check"
    case .api: "API error"
    }
  }

  /// Whether another call of `verify` with a new request may succeed.
  public var isRetryable: Bool {
    switch self {
    case .tokenExpired, .connection, .userCancelled, .exchangeTimedOut, .cameraUnavailable,
      .permissionDenied, .verificationFailed, .helpTapped, .api:
      true
    case .configurationInvalid, .notWhitelisted, .unknown, .requiredFieldMissing, .exchangeFailed,
      .securityCheck:
      false
    }
  }
}

extension FeatureError: SDKError {
  /// Creates the error with the daemon's code, or with the closest code if there is none.
  init(_ error: KitError) {
    let provider = error.provider
    let nearest = FeatureErrorCode(error.kind)
    code = provider?.code ?? nearest.rawValue
    title = provider?.title ?? FeatureErrorCode(rawValue: code)?.title ?? nearest.title
    message = provider?.message ?? error.message
    serverCode = provider?.error
    retryAfter = error.retryAfter
  }

  /// The error for a required field that is blank. The daemon reports the same.
  static func missing(_ field: String) -> FeatureError {
    let code = FeatureErrorCode.requiredFieldMissing
    return FeatureError(
      code: code.rawValue, title: code.title, message: "\(field) is missing or blank",
      serverCode: nil, retryAfter: nil)
  }

  static var callbackGone: FeatureError {
    FeatureError(
      KitError(.invalidRequest, "the callback was deallocated: keep a strong reference to it"))
  }
}

extension FeatureErrorCode {
  /// Creates the code for an error without one of GoPay. An invalid request is not GPE-2206, which
  /// is only for a blank field.
  fileprivate init(_ kind: KitError.Kind) {
    self =
      switch kind {
      case .notConfigured: .configurationInvalid
      case .signInRequired: .tokenExpired
      case .notPermitted: .notWhitelisted
      case .unavailable: .connection
      case .cancelled, .expired, .denied: .userCancelled
      case .rateLimited: .api
      case .nothingWaiting, .attemptsExhausted, .rejected, .unexpected, .invalidRequest:
        .unknown
      }
  }
}
