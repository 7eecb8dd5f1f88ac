import UsherCore

/// Why a call of ``Wallet`` came to nothing.
///
/// ``dataError(_:)`` is the SDK's (seed, "Handle SCA Challenges"); the vendor publishes no other,
/// so the rest tells what a program may want to act on. No secret is in any of them.
public enum WalletError: Error, Sendable, Equatable {
  /// The wallet does not take what it was given, for good: the limit of wrong attempts was reached,
  /// or the `clientIdentifier` is not the configured one.
  case dataError(Detail)
  /// A parameter is wrong: `field` names it where that is known.
  case invalidRequest(Detail)
  /// The daemon knows no provider of the configured name, or it is no wallet.
  case notConfigured(Detail)
  /// Nobody has signed in, or the sign-in has run out: get authentication details anew.
  case authenticationRequired(Detail)
  /// Nothing is under way that this could be an answer to: no challenge was sent, no sign-in waits.
  case nothingWaiting(Detail)
  /// A rule of this machine does not allow the call.
  case notPermitted(Detail)
  /// The customer, or the wallet for them, said no.
  case denied(Detail)
  /// The time for it is over: of the sign-in, the code, the challenge or the event.
  case expired(Detail)
  /// The wallet refuses for another reason: `providerCode` has its word.
  case rejected(Detail)
  /// Too many challenges or calls: `retryAfter` tells when it makes sense again, where that is
  /// known.
  case rateLimited(Detail)
  /// The daemon or the wallet cannot be reached now; later the same call may succeed.
  case unavailable(Detail)
  /// The task was cancelled, or the flow by somebody else.
  case cancelled(Detail)
  /// An answer that cannot be understood, or a fault of the daemon: its journal has more.
  case unexpected(Detail)

  public struct Detail: Sendable, Equatable {
    /// A sentence for people: lower case, no period.
    public var message: String
    /// The parameter that was wrong, as the daemon names it.
    public var field: String?
    public var retryAfter: Duration?
    /// The wallet's own word, as it came: `dataError`, `access_denied`, …
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
  /// The word by which the daemon hands on what the SDK calls a data error (FLOWS.md).
  private static let dataErrorCode = "dataError"

  init(_ setback: KitError) {
    let detail = Detail(setback)
    guard setback.provider?.code != Self.dataErrorCode else {
      self = .dataError(detail)
      return
    }
    self =
      switch setback.kind {
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
  init(_ setback: KitError) {
    message = setback.message
    field = setback.field
    retryAfter = setback.retryAfter
    providerCode = setback.provider?.code
    providerMessage = setback.provider?.message
  }
}
