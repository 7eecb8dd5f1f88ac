import UsherClient

/// The reason why a call of this library failed, in terms that are the same for every provider.
///
/// Each SDK's API converts it into its own error type, an ``SDKError``.
struct KitError: Error, Sendable, Equatable {
  var kind: Kind
  /// A message for people: lower case, no period, no secret.
  var message: String
  /// The name of the wrong parameter; the path of a nested one is separated by dots.
  var field: String?
  var retryAfter: Duration?
  /// The provider's error code and message, unchanged; nil if the error is not the provider's.
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
    /// A parameter of the call to UsherKit's API, or the program's answer to a step of the flow, is
    /// invalid.
    case invalidRequest
    /// The daemon has no provider with the configured name, or the provider has no flow of the kind
    /// that the call needs.
    case notConfigured
    /// A person has to sign in, or to sign in again.
    case signInRequired
    /// The program gave an answer, but no flow of the daemon waits for an answer of this kind.
    case nothingWaiting
    /// The daemon's policy (a client rule) does not permit this program to make the call.
    case notPermitted
    /// The person refused, or the provider did so on the person's behalf.
    case denied
    case expired
    /// The person has given as many wrong codes, PINs or passwords as are permitted.
    case attemptsExhausted
    /// The provider refused for a reason that no other case names.
    case rejected
    case rateLimited
    /// The daemon or the provider cannot be reached now.
    case unavailable
    case cancelled
    /// The daemon's answer cannot be decoded, or the daemon has an internal error.
    case unexpected
  }
}

/// The error type of an SDK's API.
protocol SDKError: Error {
  init(_ error: KitError)

  /// Creates the error from any error of a call. An error that already has the SDK's type is
  /// returned unchanged.
  init(_ error: any Error)
}

extension SDKError {
  init(_ error: any Error) { self = error as? Self ?? Self(KitError(error)) }
}

/// Runs a closure that calls the daemon, and converts its errors into the SDK's error type.
func translating<Value: Sendable, Failure: SDKError>(
  to error: Failure.Type, _ body: () async throws -> Value
) async throws(Failure) -> Value {
  do {
    return try await body()
  } catch {
    throw Failure(error)
  }
}

// MARK: - Errors of UsherClient

extension KitError {
  init(_ error: any Error) {
    switch error {
    case let error as KitError: self = error
    case let error as UsherError: self.init(error)
    case let fault as ConnectionError: self.init(fault)
    case is CancellationError: self.init(.cancelled, "the call was cancelled")
    default: self.init(.unexpected, "the call to usherd failed unexpectedly")
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
      case .notFound where error.detail.field == "provider": .notConfigured
      case .notFound where error.detail.field == "account": .signInRequired
      case .invalidParams where error.detail.field == "kind": .notConfigured
      case .noTarget: .notConfigured
      case .invalidParams, .invalidInput, .invalidRequest, .messageTooLarge: .invalidRequest
      case .interactionRequired, .reauthenticationRequired, .consentRequired: .signInRequired
      case .notFound, .conflict, .flowFinished, .unexpectedInput: .nothingWaiting
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
}

// MARK: - Failures and problems of flows

extension KitError {
  init(_ failure: Failure) {
    self.init(Kind(failure.reason), failure.message, provider: failure.provider)
  }

  init(_ problem: Problem) {
    self.init(
      Kind(problem), problem.message,
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
      case .reauthenticationRequired: .signInRequired
      }
  }

  /// Creates the kind for a flow's problem.
  ///
  /// Daemons may send reasons that this library does not know; these count as a refusal by the
  /// provider.
  fileprivate init(_ problem: Problem) {
    self =
      switch problem.reason {
      // Without an answer of the provider, nobody has refused to send.
      case "not_sent" where problem.provider == nil: .unavailable
      case "provider_protocol_error": .unexpected
      case "interrupted", "may_have_been_sent", "provider_unreachable": .unavailable
      case "rate_limited": .rateLimited
      case "challenge_expired": .expired
      case "verification_unavailable": .invalidRequest
      default: .rejected
      }
  }
}
