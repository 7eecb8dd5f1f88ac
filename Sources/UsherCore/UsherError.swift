/// The error type that modules throw to each other.
///
/// ``message`` is a sentence for people: lower case, no period, no secrets. ``cause`` is written to
/// the journal and is never sent to a client.
public struct UsherError: Error, Sendable {
  public var reason: Reason
  public var message: String
  public var detail: Detail
  public var cause: (any Error)?
  /// The id under which the error was already recorded in the journal or the audit; nil if it was
  /// not.
  public var correlationID: CorrelationID?

  public init(
    _ reason: Reason, _ message: String, detail: Detail = Detail(), cause: (any Error)? = nil
  ) {
    self.reason = reason
    self.message = message
    self.detail = detail
    self.cause = cause
  }

  /// Creates an error about one parameter.
  public init(_ reason: Reason, _ message: String, field: String) {
    self.init(reason, message, detail: Detail(field: field))
  }

  /// Creates an error about one limit, which is named by its key in the configuration.
  public init(_ reason: Reason, _ message: String, limit: String) {
    self.init(reason, message, detail: Detail(limit: limit))
  }

  /// The values that a program needs to react to an error. Clients get them in the member `data` of
  /// a JSON-RPC error.
  public struct Detail: Sendable, Equatable {
    /// The number of milliseconds after which a retry makes sense.
    public var retryAfterMs: Int?
    /// The invalid parameter, with dots between the parts of a nested one.
    public var field: String?
    /// The limit that was reached, by its key in the configuration.
    public var limit: String?
    /// The flow that the error is about.
    public var flow: FlowID?
    /// The confirmation that a person must answer first.
    public var confirmation: ConfirmationID?
    /// The flow that resolves the error.
    public var next: NextFlow?
    /// The error code of the provider.
    public var provider: ProviderErrorCode?
    /// Whether the same call may succeed later, if that is known more precisely than from the
    /// reason.
    public var retryable: Bool?

    public init(
      retryAfterMs: Int? = nil, field: String? = nil, limit: String? = nil, flow: FlowID? = nil,
      confirmation: ConfirmationID? = nil, next: NextFlow? = nil,
      provider: ProviderErrorCode? = nil,
      retryable: Bool? = nil
    ) {
      self.retryAfterMs = retryAfterMs
      self.field = field
      self.limit = limit
      self.flow = flow
      self.confirmation = confirmation
      self.next = next
      self.provider = provider
      self.retryable = retryable
    }
  }

  /// Whether the same call may succeed later without any action by a person.
  public var isRetryable: Bool { detail.retryable ?? reason.isRetryable }

  /// The flow that a client should start next. In the error's data it is a call of `flow.start`
  /// with its parameters.
  public struct NextFlow: Sendable, Equatable {
    public var provider: ProviderName
    public var kind: String
    public var account: AccountID?
    /// The grants that the flow must request from the user, if it takes any.
    public var grants: [String]
    /// The other parameters of the flow, by name.
    public var arguments: [String: Argument]

    public enum Argument: Sendable, Equatable {
      case text(String)
      case flag(Bool)
    }

    public init(
      provider: ProviderName, kind: String, account: AccountID? = nil, grants: [String] = [],
      arguments: [String: Argument] = [:]
    ) {
      self.provider = provider
      self.kind = kind
      self.account = account
      self.grants = grants
      self.arguments = arguments
    }
  }
}

/// The provider's own description of a failure.
public struct ProviderErrorCode: Sendable, Equatable, Codable {
  public var name: ProviderName
  /// The code, always as a string: `GPE-2208`, `dataError`, `2019`, `invalid_grant`.
  public var code: String
  /// The server's own code, if the vendor's SDK uses another one.
  public var error: String?
  public var title: String?
  public var message: String?

  public init(
    name: ProviderName, code: String, error: String? = nil, title: String? = nil,
    message: String? = nil
  ) {
    self.name = name
    self.code = code
    self.error = error
    self.title = title
    self.message = message
  }
}

extension UsherError {
  /// The reason of an error, which programs compare. Clients get the raw value as `data.reason`.
  public enum Reason: String, Sendable, Equatable, Codable, CaseIterable {
    case parseError = "parse_error"
    case invalidRequest = "invalid_request"
    case methodNotFound = "method_not_found"
    case invalidParams = "invalid_params"
    case internalError = "internal_error"
    case cancelled
    case permissionDenied = "permission_denied"
    case rateLimited = "rate_limited"
    case overloaded
    case messageTooLarge = "message_too_large"
    case shuttingDown = "shutting_down"
    case locked
    case deadlineExceeded = "deadline_exceeded"
    case notFound = "not_found"
    case conflict
    case requestIDReused = "request_id_reused"
    case interactionRequired = "interaction_required"
    case reauthenticationRequired = "reauthentication_required"
    case consentRequired = "consent_required"
    case flowFinished = "flow_finished"
    case unexpectedInput = "unexpected_input"
    case invalidInput = "invalid_input"
    case providerRejected = "provider_rejected"
    case providerUnreachable = "provider_unreachable"
    case providerProtocolError = "provider_protocol_error"
    case storageUnavailable = "storage_unavailable"

    /// The JSON-RPC error code.
    public var code: Int {
      switch self {
      case .parseError: -32700
      case .invalidRequest: -32600
      case .methodNotFound: -32601
      case .invalidParams: -32602
      case .internalError: -32603
      case .cancelled: -32800
      case .permissionDenied: -32001
      case .rateLimited: -32002
      case .overloaded: -32003
      case .messageTooLarge: -32004
      case .shuttingDown: -32005
      case .locked: -32006
      case .deadlineExceeded: -32007
      case .notFound: 1001
      case .conflict: 1002
      case .requestIDReused: 1003
      case .interactionRequired: 1101
      case .reauthenticationRequired: 1102
      case .consentRequired: 1103
      case .flowFinished: 1201
      case .unexpectedInput: 1202
      case .invalidInput: 1203
      case .providerRejected: 1301
      case .providerUnreachable: 1302
      case .providerProtocolError: 1303
      case .storageUnavailable: 1401
      }
    }

    /// Whether the same call may succeed later without any action by a person.
    public var isRetryable: Bool {
      switch self {
      case .rateLimited, .overloaded, .shuttingDown, .deadlineExceeded, .providerUnreachable,
        .storageUnavailable:
        true
      case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError,
        .cancelled, .permissionDenied, .messageTooLarge, .locked, .notFound, .conflict,
        .requestIDReused, .interactionRequired, .reauthenticationRequired, .consentRequired,
        .flowFinished, .unexpectedInput, .invalidInput, .providerRejected, .providerProtocolError:
        false
      }
    }
  }
}

extension UsherError.Reason {
  /// When the error occurs, as a sentence for the description of the API.
  public var meaning: String {
    switch self {
    case .parseError: "The line is not JSON, or has duplicate members or too deep a nesting."
    case .invalidRequest: "The JSON is not a JSON-RPC 2.0 request, or its id is still in use."
    case .methodNotFound: "The method does not exist, or not on this socket."
    case .invalidParams: "A parameter is missing, unknown or has a wrong value: see `field`."
    case .internalError: "The daemon has a fault: see its journal, by `correlationId`."
    case .cancelled: "The call was cancelled by `rpc.cancel`."
    case .permissionDenied: "The policy or the configuration does not allow the call."
    case .rateLimited: "The caller made too many such calls: see `limit` and `retryAfterMs`."
    case .overloaded: "Too much is in progress: see `limit`."
    case .messageTooLarge: "The message, or the reply, is larger than allowed: see `limit`."
    case .shuttingDown: "The daemon is stopping; connect again."
    case .locked: "The daemon is locked until `system.unlock`."
    case .deadlineExceeded: "The call took longer than allowed; whether it had an effect is open."
    case .notFound: "The object does not exist, or is not the caller's."
    case .conflict: "The object has changed or the call does not fit its state: read it again."
    case .requestIDReused: "The `requestId` was used before: see `flow`."
    case .interactionRequired: "A person must act first: see `next`, or `confirmation`."
    case .reauthenticationRequired: "The account's grant is dead: sign in again, see `next`."
    case .consentRequired: "The grant does not cover the call: ask the user for more, see `next`."
    case .flowFinished: "The flow has finished and takes no input."
    case .unexpectedInput: "The input is of another type than the flow's step. Nothing changed."
    case .invalidInput: "A member of the input is missing or wrong: see `field`. Nothing changed."
    case .providerRejected: "The provider refused the request: see `provider`."
    case .providerUnreachable: "The provider could not be reached or is overloaded."
    case .providerProtocolError: "The provider's reply cannot be read or is not trustworthy."
    case .storageUnavailable: "The database cannot be written or read at present."
    }
  }
}
