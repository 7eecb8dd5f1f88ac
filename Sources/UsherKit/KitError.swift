import UsherClient
import UsherCore

/// Why a call of an SDK's surface came to nothing, in words that are the same for every provider.
///
/// Each surface makes its SDK's own error out of it: ``SDKError``.
struct KitError: Error, Sendable, Equatable {
  var kind: Kind
  /// A sentence for people: lower case, no period, no secret.
  var message: String
  /// The parameter that was wrong, dotted where it is nested.
  var field: String?
  var retryAfter: Duration?
  /// What the provider itself said, as it said it.
  var provider: ProviderErrorCode?

  init(
    _ kind: Kind, _ message: String, field: String? = nil, retryAfter: Duration? = nil,
    provider: ProviderErrorCode? = nil
  ) {
    self.kind = kind
    self.message = message
    self.field = field
    self.retryAfter = retryAfter
    self.provider = provider
  }

  enum Kind: Sendable, Equatable, CaseIterable {
    /// What the caller gave is wrong.
    case invalidRequest
    /// The daemon knows no such provider, or no such flow of it.
    case notConfigured
    /// A person has to sign in, or to sign in again.
    case signInRequired
    /// Nothing is under way that this could be an answer to.
    case nothingWaiting
    /// A rule of this machine forbids it.
    case notPermitted
    /// The person, or the provider for them, said no.
    case denied
    case expired
    /// The limit of wrong answers was reached.
    case attemptsExhausted
    /// The provider refuses for another reason.
    case rejected
    case rateLimited
    /// The daemon or the provider cannot be reached now.
    case unavailable
    case cancelled
    /// An answer that cannot be understood, or a fault of the daemon.
    case unexpected
  }
}

/// An error of an SDK that a surface here speaks for.
protocol SDKError: Error {
  init(_ setback: KitError)
}

/// Runs what asks the daemon; what it throws becomes the SDK's own error.
func translating<Value: Sendable, Failure: SDKError>(
  to error: Failure.Type, _ body: () async throws -> Value
) async throws(Failure) -> Value {
  do {
    return try await body()
  } catch {
    throw Failure(KitError(error))
  }
}

// MARK: - What clients throw

extension KitError {
  init(_ error: any Error) {
    switch error {
    case let setback as KitError: self = setback
    case let error as UsherError: self.init(error)
    case let fault as ConnectionError: self.init(fault)
    case is CancellationError: self.init(.cancelled, "the call was cancelled")
    default: self.init(.unexpected, "usherd could not be asked")
    }
  }

  private init(_ fault: ConnectionError) {
    let kind: Kind =
      switch fault.kind {
      case .noSocket, .refused, .badPath, .busy, .lost, .closed, .other: .unavailable
      case .notPermitted: .notPermitted
      case .garbled, .replyTooLarge, .incompatible: .unexpected
      }
    self.init(kind, fault.description)
  }

  private init(_ error: UsherError) {
    self.init(
      Kind(error), error.message, field: error.detail.field,
      retryAfter: error.detail.retryAfterMs.map { .milliseconds($0) },
      provider: error.detail.provider)
  }
}

extension KitError.Kind {
  fileprivate init(_ error: UsherError) {
    self =
      switch error.reason {
      case .notFound: Self(missing: error.detail.field)
      case .invalidParams where error.detail.field == "kind": .notConfigured
      case .invalidParams, .invalidInput, .invalidRequest, .messageTooLarge: .invalidRequest
      case .interactionRequired, .reauthenticationRequired, .consentRequired: .signInRequired
      case .conflict, .flowFinished, .unexpectedInput: .nothingWaiting
      case .permissionDenied: .notPermitted
      case .providerRejected: .rejected
      case .rateLimited: .rateLimited
      case .overloaded, .shuttingDown, .locked, .deadlineExceeded, .providerUnreachable,
        .storageUnavailable:
        .unavailable
      case .cancelled: .cancelled
      case .parseError, .methodNotFound, .internalError, .requestIDReused, .providerProtocolError:
        .unexpected
      }
  }

  /// - Parameter field: The parameter that names what is not there.
  private init(missing field: String?) {
    self =
      switch field {
      case "provider": .notConfigured
      case "account": .signInRequired
      default: .nothingWaiting
      }
  }
}

// MARK: - What flows say

extension KitError {
  init(_ failure: Failure) {
    self.init(Kind(failure.reason), failure.message, provider: failure.provider)
  }

  init(_ problem: Problem) {
    self.init(
      Kind(problem: problem.reason), problem.message,
      retryAfter: problem.retryAfterMs.map { .milliseconds($0) }, provider: problem.provider)
  }
}

extension KitError.Kind {
  fileprivate init(_ reason: Failure.Reason) {
    self =
      switch reason {
      case .cancelled: .cancelled
      case .expired, .exchangeTimedOut: .expired
      case .denied, .localAuthFailed: .denied
      case .invalidRequest: .invalidRequest
      case .providerRejected, .exchangeFailed: .rejected
      case .providerUnreachable, .overloaded: .unavailable
      case .providerProtocolError: .unexpected
      case .attemptsExhausted: .attemptsExhausted
      }
  }

  /// - Parameter reason: Problems are an open set: one that is not known here is the provider's no.
  fileprivate init(problem reason: String) {
    self =
      switch reason {
      case "interrupted", "may_have_been_sent", "provider_unreachable": .unavailable
      case "rate_limited": .rateLimited
      case "challenge_expired": .expired
      case "verification_unavailable": .invalidRequest
      default: .rejected
      }
  }
}
