import UsherCore

/// Why a call of ``FeatureManager`` came to nothing (provider contract §3.3). No secret is in it.
public struct FeatureError: Error, Sendable, Equatable {
  /// The SDK's, as the seed writes it: `GPE-2206`.
  public let code: String
  /// What the code means: `required field missing`.
  public let title: String
  /// A sentence for people: the server's, or else the daemon's. With GPE-2208 it has the reason that
  /// the exchange failed with.
  public let message: String
  /// The server's own code, where it sent one: the SDK's number says less.
  public let serverCode: String?
  /// When it makes sense to try again, where that is known.
  public let retryAfter: Duration?

  /// Nil where the daemon knows a code that is not known here.
  public var kind: FeatureErrorCode? { FeatureErrorCode(rawValue: code) }

  /// Whether `verify` with another request may succeed where this one did not.
  public var isRetryable: Bool { kind?.isRetryable ?? false }
}

extension FeatureError: CustomStringConvertible {
  public var description: String { "\(code) \(title): \(message)" }
}

/// The SDK's codes. The daemon's page GoPay tells what produces each.
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

  /// In the words of the contract.
  public var title: String {
    switch self {
    case .configurationInvalid: "configuration invalid"
    case .tokenExpired: "token expired or unauthorised"
    case .connection: "connection error"
    case .notWhitelisted: "feature not whitelisted"
    case .unknown: "unknown"
    case .requiredFieldMissing: "required field missing"
    case .userCancelled: "user cancelled"
    case .exchangeFailed: "exchange failed"
    case .exchangeTimedOut: "exchange timed out"
    case .cameraUnavailable: "camera unavailable"
    case .permissionDenied: "permission denied"
    case .verificationFailed: "verification failed"
    case .helpTapped: "user tapped Help"
    case .securityCheck: "security check"
    case .api: "API error"
    }
  }

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
  /// The daemon's code, or where it has none the nearest one.
  init(_ setback: KitError) {
    let word = setback.provider
    let nearest = FeatureErrorCode(setback.kind)
    code = word?.code ?? nearest.rawValue
    title = word?.title ?? FeatureErrorCode(rawValue: code)?.title ?? nearest.title
    message = word?.message ?? setback.message
    serverCode = word?.error
    retryAfter = setback.retryAfter
  }

  static var nobodyHears: FeatureError {
    FeatureError(
      KitError(.invalidRequest, "the callback is gone: keep a strong reference to it"))
  }
}

extension FeatureErrorCode {
  /// GPE-2206 is also a parameter that must not be there, such as `featureId`: it is the SDK's one
  /// code for a request that `verify` does not take, and like this it is of no use to try again.
  fileprivate init(_ kind: KitError.Kind) {
    self =
      switch kind {
      case .invalidRequest: .requiredFieldMissing
      case .notConfigured: .configurationInvalid
      case .signInRequired: .tokenExpired
      case .notPermitted: .notWhitelisted
      case .unavailable: .connection
      case .cancelled, .expired, .denied: .userCancelled
      case .rateLimited: .api
      case .nothingWaiting, .attemptsExhausted, .rejected, .unexpected: .unknown
      }
  }
}
