public import JSONRPC
public import UsherCore

/// A flow session as its owner sees it (RPC.md § Objects).
public struct Flow: Codable, Sendable, Equatable {
  public var id: FlowID
  public var provider: ProviderName
  public var kind: String
  /// What the client itself knows the flow by (an SCA event, a contact), where the kind has one.
  public var key: String?
  public var status: FlowStatus
  /// The provider's own word for where the flow stands.
  public var state: String
  /// Rises when status, state, step or problem changes; polls and ticks do not count.
  public var revision: Int
  @Nullable public var step: Step?
  @Nullable public var problem: Problem?
  @Nullable public var result: JSONValue?
  @Nullable public var failure: Failure?
  public var requestId: String?
  public var createdAt: Timestamp
  public var updatedAt: Timestamp
  public var expiresAt: Timestamp

  /// Integers above 2^53 in `result` become strings (RPC.md § Transport).
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

/// The same for every provider and kind.
public enum FlowStatus: String, Codable, Sendable, Equatable, CaseIterable {
  case active, succeeded, failed, cancelled, expired

  public var isFinished: Bool { self != .active }
}

/// Why the last input did not move a flow on; the next accepted input clears it.
public struct Problem: Codable, Sendable, Equatable {
  /// `interrupted`, `wrong_code`, `provider_unreachable`, …: what programs compare.
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

/// Why a flow ended without success.
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
    /// The daemon lacks file descriptors.
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

/// One durable change of a flow, as the journal keeps it and `flow.wait` tells it.
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
