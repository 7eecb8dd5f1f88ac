import UsherCore

/// The error of a call of ``Wallet``.
///
/// ``dataError(_:)`` is the SDK's (SDK documentation, "Handle SCA Challenges"). The vendor
/// documents no other, so the other cases are not in the SDK. No error contains a secret.
public enum WalletError: Error, Sendable, Equatable {
  /// The wallet definitely refuses: the limit of wrong attempts is reached, or `clientIdentifier`
  /// differs from the configured one.
  case dataError(Detail)
  /// A parameter is wrong; `field` names it if it is known.
  case invalidRequest(Detail)
  /// The daemon has no provider of the configured name, or the provider is not a wallet.
  case notConfigured(Detail)
  /// No customer is signed in, or the sign-in has expired: begin with authentication details.
  case authenticationRequired(Detail)
  /// No challenge or sign-in waits for this answer.
  case nothingWaiting(Detail)
  /// A rule of the daemon's policy forbids the call.
  case notPermitted(Detail)
  /// The customer, or the wallet on the customer's behalf, refused.
  case denied(Detail)
  /// The sign-in, the code, the challenge or the event has expired.
  case expired(Detail)
  /// The wallet refuses for another reason; `providerCode` is its error code.
  case rejected(Detail)
  /// Too many challenges or calls; `retryAfter` is the time to wait, if it is known.
  case rateLimited(Detail)
  /// The daemon or the wallet cannot be reached now; the same call may succeed later.
  case unavailable(Detail)
  /// The task was cancelled, or another program cancelled the flow.
  case cancelled(Detail)
  /// An answer cannot be decoded, or the daemon has an internal error: see its journal.
  case unexpected(Detail)

  public struct Detail: Sendable, Equatable {
    /// A message for people: lower case, no period.
    public var message: String
    /// The name of the wrong parameter in the daemon's API; nil if no parameter is wrong.
    public var field: String?
    /// The time to wait before trying again, if it is known.
    public var retryAfter: Duration?
    /// The wallet's error code, unchanged: `dataError`, `access_denied`, …
    public var providerCode: String?
    public var providerMessage: String?
  }
}

extension WalletError {
  public var detail: Detail {
    switch self {
    case .dataError(let detail), .invalidRequest(let detail), .notConfigured(let detail),
      .authenticationRequired(let detail), .nothingWaiting(let detail), .notPermitted(let detail),
      .denied(let detail), .expired(let detail), .rejected(let detail), .rateLimited(let detail),
      .unavailable(let detail), .cancelled(let detail), .unexpected(let detail):
      detail
    }
  }

  public var message: String { detail.message }
}

extension WalletError: CustomStringConvertible {
  public var description: String { message }
}

extension WalletError: SDKError {
  /// The code with which the daemon reports the SDK's data error.
  private static let dataErrorCode = "dataError"

  init(_ error: KitError) {
    let detail = Detail(error)
    guard error.provider?.code != Self.dataErrorCode else {
      self = .dataError(detail)
      return
    }
    self =
      switch error.kind {
      case .attemptsExhausted: .dataError(detail)
      case .invalidRequest: .invalidRequest(detail)
      case .notConfigured: .notConfigured(detail)
      case .signInRequired: .authenticationRequired(detail)
      case .nothingWaiting: .nothingWaiting(detail)
      case .notPermitted: .notPermitted(detail)
      case .denied: .denied(detail)
      case .expired: .expired(detail)
      case .rejected: .rejected(detail)
      case .rateLimited: .rateLimited(detail)
      case .unavailable: .unavailable(detail)
      case .cancelled: .cancelled(detail)
      case .unexpected: .unexpected(detail)
      }
  }
}

extension WalletError.Detail {
  init(_ error: KitError) {
    message = error.message
    field = error.field
    retryAfter = error.retryAfter
    providerCode = error.provider?.code
    providerMessage = error.provider?.message
  }
}
