public import JSONRPC
public import UsherCore

/// A flow as its owner sees it: a sign-in, or another process of a provider that needs several
/// steps.
public struct Flow: Codable, Sendable, Equatable {
  /// The id of the flow, `flw_…`.
  public var id: FlowID
  /// The provider of the flow.
  public var provider: ProviderName
  /// The kind of the flow.
  public var kind: String
  /// A key by which the client can find the flow again with `flow.list`, such as the id of an SCA
  /// event; absent if flows of this kind have none.
  public var key: String?
  /// The status of the flow, the same for all providers and kinds. Every status but `active` is
  /// final.
  public var status: FlowStatus
  /// The name of the flow's current state: the one in the provider's SDK if the SDK has this state.
  public var state: String
  /// A number that increases when the status, state, step or problem changes. Polls and timers
  /// alone do not increase it.
  public var revision: Int
  /// The step that the app shows to the user now; null if the flow has finished.
  @Nullable public var step: Step?
  /// Why the last input did not advance the flow; null if it did. The next accepted input clears
  /// it.
  @Nullable public var problem: Problem?
  /// The result; null unless the flow has succeeded. Its schema depends on the provider's type and
  /// the kind: see `x-flows`.
  @Nullable public var result: JSONValue?
  /// Why the flow ended without success; null while it is active and if it succeeded.
  @Nullable public var failure: Failure?
  /// The id that the caller passed to `flow.start`; absent if it passed none.
  public var requestId: String?
  /// The time at which the flow was started.
  public var createdAt: Timestamp
  /// The time of the last change of the flow's revision.
  public var updatedAt: Timestamp
  /// The time at which the flow expires if it has not finished by then.
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

/// The reason why the last input did not advance a flow, or why the flow has to wait. The next
/// accepted input clears it.
public struct Problem: Codable, Sendable, Equatable {
  /// A word for programs to compare: `interrupted`, `wrong_code`, `provider_unreachable`, ….
  public var reason: String
  /// A heading for people.
  public var title: String
  /// A sentence for people.
  public var message: String
  /// The number of milliseconds after which the user can try again; absent if it is unknown.
  public var retryAfterMs: Int?
  /// The provider's own error code.
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
public struct Failure: Error, Codable, Sendable, Equatable {
  /// The reason for programs to compare, the same for all providers.
  public var reason: Reason
  /// A heading for people.
  public var title: String
  /// A sentence for people.
  public var message: String
  /// Whether a new flow of the same kind may succeed.
  public var retryable: Bool
  /// The provider's own error code.
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
    /// The account has no usable token any more: the user has to sign in again.
    case reauthenticationRequired = "reauthentication_required"
    /// The daemon has too few file descriptors for the listener to which the browser returns.
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

/// A change of a flow that the daemon has stored, as `flow.wait` returns it.
public struct Transition: Codable, Sendable, Equatable, SchemaDocumented {
  /// The revision of the flow after the change.
  public var revision: Int
  /// The state of the flow after the change.
  public var state: String
  /// The time of the change.
  public var at: Timestamp

  public init(revision: Int, state: String, at: Timestamp) {
    self.revision = revision
    self.state = state
    self.at = at
  }
}

extension Flow: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "Flow",
    """
    A flow as its owner sees it: a sign-in or another process of a provider that needs several \
    steps.
    """)

  public static let memberComponents: [String: String] = ["result": "FlowResult"]
}

extension Problem: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "Problem", "The reason why the last input did not advance a flow.")
}

extension Failure: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "Failure", "The reason why a flow ended without success.")
}
