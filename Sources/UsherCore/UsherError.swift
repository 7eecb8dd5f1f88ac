/// The error type that one module of usherd throws to another.
///
/// ``message`` is a sentence for people: lower case, no period, no secrets. ``cause`` is written to
/// the journal and is never sent to a client.
public struct UsherError: Error, Sendable {
  public var reason: Reason
  public var message: String
  public var detail: Detail
  public var cause: (any Error)?
  /// The id under which the error was already recorded in the journal or the audit log; nil if it
  /// was not.
  public var correlationID: CorrelationID?

  public init(
    _ reason: Reason, _ message: String, detail: Detail = Detail(), cause: (any Error)? = nil
  ) {
    self.reason = reason
    self.message = message
    self.detail = detail
    self.cause = cause
  }

  /// Creates an error about one invalid parameter.
  public init(_ reason: Reason, _ message: String, field: String) {
    self.init(reason, message, detail: Detail(field: field))
  }

  /// Creates an error about one exceeded limit, which is named by its key in the configuration.
  public init(_ reason: Reason, _ message: String, limit: String) {
    self.init(reason, message, detail: Detail(limit: limit))
  }

  /// The values that a program needs to react to an error. Clients get them in the member `data` of
  /// a JSON-RPC error.
  public struct Detail: Sendable, Equatable {
    /// The number of milliseconds after which a retry may succeed; nil if it is unknown.
    public var retryAfterMs: Int?
    /// The invalid parameter, with dots between the parts of a nested one; nil if the error is
    /// about none.
    public var field: String?
    /// The limit that was reached, by its key in the configuration; nil if the error is about none.
    public var limit: String?
    /// The flow that the error is about; nil if it is about none.
    public var flow: FlowID?
    /// The confirmation that a person must answer first; nil if none is needed.
    public var confirmation: ConfirmationID?
    /// The flow that resolves the error; nil if no flow does.
    public var next: NextFlow?
    /// The error code of the provider; nil if the provider reported no error.
    public var provider: ProviderErrorCode?
    /// Whether the same call may succeed later, if the error knows that more precisely than its
    /// reason; nil otherwise.
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

  /// Whether the same call may succeed if it is repeated later.
  public var isRetryable: Bool { detail.retryable ?? reason.isRetryable }

  /// The flow that a client should start next. In the error's `data` it is a call of `flow.start`
  /// with its parameters.
  public struct NextFlow: Sendable, Equatable {
    public var provider: ProviderName
    public var kind: String
    public var account: AccountID?
    /// The grants that the flow must request from the user; empty if it requests none.
    public var grants: [String]
    /// The other parameters of the flow, by name.
    public var arguments: [String: Argument]

    public enum Argument: Sendable, Equatable {
      case text(String)
      case flag(Bool)
      case number(Int)
      case texts([String])
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

/// The provider's own description of an error.
public struct ProviderErrorCode: Sendable, Equatable, Codable {
  public var name: ProviderName
  /// The code, always as a string: `GPE-2208`, `dataError`, `2019`, `invalid_grant`.
  public var code: String
  /// The server's own code, if the vendor's SDK reports another one; nil otherwise.
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
    case noTarget = "no_target"
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

    /// The JSON-RPC error code for this reason.
    public var code: Int { traits.code }

    /// Whether the same call may succeed if it is repeated later.
    public var isRetryable: Bool { traits.isRetryable }

    /// When the error occurs, as a sentence for the OpenRPC document.
    public var meaning: String { traits.meaning }

    /// The level at which the error is logged. A fault of the daemon or of a provider is visible by
    /// default, a mistake of the caller is not: any caller can cause it at will, so it must not
    /// flood the journal.
    package var severity: Severity { traits.severity }

    package enum Severity: Sendable { case debug, info, warning, error }

    /// The properties of an error reason. A `final` error occurs again if the call is repeated
    /// unchanged; a `retryable` one may not.
    private struct Traits {
      let code: Int, meaning: String, isRetryable: Bool, severity: Severity

      static func final(_ code: Int, _ meaning: String, _ severity: Severity) -> Self {
        Self(code: code, meaning: meaning, isRetryable: false, severity: severity)
      }

      static func retryable(_ code: Int, _ meaning: String, _ severity: Severity) -> Self {
        Self(code: code, meaning: meaning, isRetryable: true, severity: severity)
      }
    }

    private var traits: Traits {
      switch self {
      case .parseError:
        .final(
          -32700, "The line is not JSON, or has duplicate members or too deep a nesting.", .debug)
      case .invalidRequest:
        .final(-32600, "The JSON is not a JSON-RPC 2.0 request, or its id is still in use.", .debug)
      case .methodNotFound:
        .final(-32601, "The method does not exist, or not on this socket.", .debug)
      case .invalidParams:
        .final(-32602, "A parameter is missing, unknown or has a wrong value: see `field`.", .debug)
      case .internalError:
        .final(-32603, "The daemon has a fault: see its journal, by `correlationId`.", .error)
      case .cancelled: .final(-32800, "The call was cancelled by `rpc.cancel`.", .debug)
      case .permissionDenied:
        .final(-32001, "The policy or the configuration does not allow the call.", .debug)
      case .rateLimited:
        .retryable(
          -32002, "The caller made too many such calls: see `limit` and `retryAfterMs`.", .debug)
      case .overloaded: .retryable(-32003, "Too much is in progress: see `limit`.", .debug)
      case .messageTooLarge:
        .final(-32004, "The message, or the reply, is larger than allowed: see `limit`.", .debug)
      case .shuttingDown: .retryable(-32005, "The daemon is stopping; connect again.", .debug)
      case .locked: .retryable(-32006, "The daemon is locked until `system.unlock`.", .debug)
      case .deadlineExceeded:
        .retryable(
          -32007, "The call took longer than allowed; whether it had an effect is open.", .debug)
      case .notFound: .final(1001, "The object does not exist, or is not the caller's.", .debug)
      case .conflict:
        .final(
          1002, "The object has changed or the call does not fit its state: read it again.", .debug)
      case .requestIDReused: .final(1003, "The `requestId` was used before: see `flow`.", .debug)
      case .noTarget:
        .final(1004, "No target of the configuration answers what the tool asks for.", .debug)
      case .interactionRequired:
        .final(1101, "A person must act first: see `next`, or `confirmation`.", .debug)
      case .reauthenticationRequired:
        .final(1102, "The account's grant is dead: sign in again, see `next`.", .debug)
      case .consentRequired:
        .final(
          1103, "The grant does not cover the call: ask the user for more, see `next`.", .debug)
      case .flowFinished: .final(1201, "The flow has finished and takes no input.", .debug)
      case .unexpectedInput:
        .final(1202, "The input is of another type than the flow's step. Nothing changed.", .debug)
      case .invalidInput:
        .final(
          1203, "A member of the input is missing or wrong: see `field`. Nothing changed.", .debug)
      case .providerRejected:
        .final(1301, "The provider refused the request: see `provider`.", .info)
      case .providerUnreachable:
        .retryable(1302, "The provider could not be reached or is overloaded.", .info)
      case .providerProtocolError:
        .final(1303, "The provider's reply cannot be read or is not trustworthy.", .warning)
      case .storageUnavailable:
        .retryable(1401, "The database cannot be written or read at present.", .warning)
      }
    }
  }
}
