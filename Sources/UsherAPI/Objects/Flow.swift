public import JSONRPC
public import UsherCore

/// A flow as its owner sees it: a sign-in or another process of a provider that needs several
/// steps.
public struct Flow: Codable, Sendable, Equatable {
  public var id: FlowID
  public var provider: ProviderName
  public var kind: String
  /// A key by which the client can find the flow again, such as the id of an SCA event; nil if
  /// flows of this kind have none.
  public var key: String?
  public var status: FlowStatus
  /// The provider's name for the current state.
  public var state: String
  /// A number that increases when the status, state, step or problem changes. Polls and timers
  /// alone do not increase it.
  public var revision: Int
  @Nullable public var step: Step?
  @Nullable public var problem: Problem?
  @Nullable public var result: JSONValue?
  @Nullable public var failure: Failure?
  public var requestId: String?
  public var createdAt: Timestamp
  public var updatedAt: Timestamp
  public var expiresAt: Timestamp

  /// Creates a flow. Integers beyond ±2^53 in `result` become strings, because many JSON readers
  /// store numbers as doubles.
  public init(
    id: FlowID, provider: ProviderName, kind: String, key: String? = nil, status: FlowStatus,
    state: String, revision: Int, step: Step? = nil, problem: Problem? = nil,
    result: JSONValue? = nil, failure: Failure? = nil, requestId: String? = nil,
    createdAt: Timestamp, updatedAt: Timestamp, expiresAt: Timestamp
  ) {
    self.id = id
    self.provider = provider
    self.kind = kind
    self.key = key
    self.status = status
    self.state = state
    self.revision = revision
    self.step = step
    self.problem = problem
    self.result = result?.wireForm
    self.failure = failure
    self.requestId = requestId
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.expiresAt = expiresAt
  }
}

/// The status of a flow, the same for all providers and kinds.
public enum FlowStatus: String, Codable, Sendable, Equatable, CaseIterable {
  case active, succeeded, failed, cancelled, expired

  public var isFinished: Bool { self != .active }
}

/// The reason why the last input did not advance a flow. The next accepted input clears it.
public struct Problem: Codable, Sendable, Equatable {
  /// A word for programs to compare: `interrupted`, `wrong_code`, `provider_unreachable`, ….
  public var reason: String
  public var title: String
  public var message: String
  public var retryAfterMs: Int?
  public var provider: ProviderErrorCode?

  public init(
    reason: String, title: String, message: String, retryAfterMs: Int? = nil,
    provider: ProviderErrorCode? = nil
  ) {
    self.reason = reason
    self.title = title
    self.message = message
    self.retryAfterMs = retryAfterMs.map(ExactIntegers.clamp)
    self.provider = provider
  }
}

/// The reason why a flow ended without success.
public struct Failure: Codable, Sendable, Equatable {
  public var reason: Reason
  public var title: String
  public var message: String
  /// Whether a new flow of the same kind may succeed.
  public var retryable: Bool
  public var provider: ProviderErrorCode?

  public enum Reason: String, Codable, Sendable, Equatable, CaseIterable {
    case cancelled, expired, denied
    case invalidRequest = "invalid_request"
    case providerRejected = "provider_rejected"
    case providerUnreachable = "provider_unreachable"
    case providerProtocolError = "provider_protocol_error"
    case attemptsExhausted = "attempts_exhausted"
    case exchangeFailed = "exchange_failed"
    case exchangeTimedOut = "exchange_timed_out"
    case localAuthFailed = "local_auth_failed"
    /// The daemon has too few file descriptors.
    case overloaded
  }

  public init(
    reason: Reason, title: String, message: String, retryable: Bool,
    provider: ProviderErrorCode? = nil
  ) {
    self.reason = reason
    self.title = title
    self.message = message
    self.retryable = retryable
    self.provider = provider
  }
}

/// A stored change of a flow, as `flow.wait` returns it.
public struct Transition: Codable, Sendable, Equatable {
  public var revision: Int
  public var state: String
  public var at: Timestamp

  public init(revision: Int, state: String, at: Timestamp) {
    self.revision = revision
    self.state = state
    self.at = at
  }
}
