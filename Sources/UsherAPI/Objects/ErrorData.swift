package import JSONRPC
public import UsherCore

/// The member `data` of an error reply. `UsherError.Detail` describes the members in detail.
public struct ErrorData: Codable, Sendable, Equatable {
  /// The reason of the error, such as `not_found`. Programs compare the reason; the message is for
  /// people.
  public var reason: String
  /// Whether the same call may succeed if it is repeated later.
  public var retryable: Bool
  /// The number of milliseconds after which a retry makes sense; absent if it is unknown.
  public var retryAfterMs: Int?
  /// The invalid parameter, with dots between the parts of a nested one.
  public var field: String?
  /// The limit that was reached, by its key in the section `limits` of the configuration.
  public var limit: String?
  /// The flow that the error is about.
  public var flow: FlowID?
  /// The id of the question that a person must answer with `confirm.answer`; after that the same
  /// call may succeed. Absent if no answer is needed.
  public var confirmation: ConfirmationID?
  /// The call that resolves the error; send it as it is.
  public var next: Next?
  /// The provider's own error code.
  public var provider: ProviderErrorCode?
  /// The id under which the daemon's journal and audit log record the error.
  public var correlationId: CorrelationID

  /// The call that resolves the error: the parameters of a `flow.start`.
  public struct Next: Codable, Sendable, Equatable, SchemaDocumented {
    /// The method: `flow.start`.
    public var method: String
    /// The parameters of the call.
    public var params: FlowStart
  }

  public init(_ error: UsherError, correlationId: CorrelationID) {
    reason = error.reason.rawValue
    retryable = error.isRetryable
    retryAfterMs = error.detail.retryAfterMs.map(ExactIntegers.clamp)
    field = error.detail.field
    limit = error.detail.limit
    flow = error.detail.flow
    confirmation = error.detail.confirmation
    next = error.detail.next.map { Next(method: FlowStart.name, params: FlowStart($0)) }
    provider = error.detail.provider
    self.correlationId = correlationId
  }

  /// Converts the data to an error. A reason that this version does not know becomes
  /// `internalError`.
  public func error(message: String) -> UsherError {
    let known = UsherError.Reason(rawValue: reason) ?? .internalError
    return UsherError(
      known, message,
      detail: .init(
        retryAfterMs: retryAfterMs, field: field, limit: limit, flow: flow,
        confirmation: confirmation, next: next.map(\.params.nextFlow), provider: provider,
        retryable: retryable == known.isRetryable ? nil : retryable))
  }
}

extension UsherError.NextFlow.Argument {
  package var json: JSONValue {
    switch self {
    case .text(let text): .string(text)
    case .flag(let flag): .bool(flag)
    case .number(let number): .integer(Int64(number))
    case .texts(let texts): .array(texts.map { .string($0) })
    }
  }
}

extension FlowStart {
  init(_ next: UsherError.NextFlow) {
    var params = next.arguments.mapValues(\.json)
    if let account = next.account { params["account"] = .string(account.rawValue) }
    if !next.grants.isEmpty { params["grants"] = .array(next.grants.map { .string($0) }) }
    self.init(provider: next.provider, kind: next.kind, params: .object(params))
  }

  /// The flow that the call starts, as an error names it.
  package var nextFlow: UsherError.NextFlow {
    let others = (params.objectValue ?? [:])
      .filter { !["account", "grants"].contains($0.key) }
    return .init(
      provider: provider, kind: kind, account: params["account"]?.stringValue.map { .init($0) },
      grants: params["grants"]?.arrayValue?.compactMap(\.stringValue) ?? [],
      arguments: others.compactMapValues { value in
        value.stringValue.map { .text($0) } ?? value.boolValue.map { .flag($0) }
          ?? value.integerValue.map { .number(Int($0)) }
          ?? value.arrayValue.map { .texts($0.compactMap(\.stringValue)) }
      })
  }
}

extension ErrorData: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "ErrorData",
    "The member `data` of an error. Compare `reason`; the error's `message` is for people.")
}

extension ProviderErrorCode: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "ProviderError", "The provider's own description of a failure.")

  public static let memberDescriptions: [String: String] = [
    "name": "The name of the provider.",
    "code": """
    The code of the provider or of its SDK, always as a string: `GPE-2208`, `dataError`, \
    `invalid_grant`.
    """,
    "error": "The server's own code; absent if it is the same as `code`.",
    "title": "The provider's heading for people.",
    "message": "The provider's sentence for people.",
  ]
}
