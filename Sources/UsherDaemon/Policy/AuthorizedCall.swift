import UsherAPI
import UsherConfig
import UsherCore

/// An RPC call that the access policy allows. It records its outcome in the audit log.
struct AuthorizedCall: Sendable {
  let request: PolicyRequest
  let caller: Caller
  let permit: Permit
  let audit: AuditRecorder
  /// The account that the call is about; nil if it is about none, or none exists for the caller.
  var target: AccountRecord?
  /// The target of the configuration that answers the call; nil if none does, or if the call names
  /// nothing for targets.
  var answering: TargetConfig?
  /// What the RPC call hands out of which account, for the audit log: a token's scope and audience,
  /// or profile members. Read when the call has succeeded.
  var disclosure: Disclosure?
  /// ``AccountRepository/generation`` before the decision; a change invalidates a cached decision.
  var generation = 0

  /// The data that an RPC call hands out to its caller, for the audit log.
  enum Disclosure: Sendable {
    case token(scope: String?, audience: String?)
    case profiles(@Sendable () -> [(account: AccountID, fields: [String])])
    /// A user's stored objects, which an operator deletes or assigns to the uid's current user.
    case storedObjects(of: UInt32)
  }

  /// The account that the call acts on.
  ///
  /// - Throws: `notFound` if the account does not exist for the caller.
  var account: AccountRecord {
    get throws(UsherError) {
      guard let target else { throw AccountRepository.notFound(AccountID(request.named ?? "")) }
      return target
    }
  }

  /// The call without the account's record, so that its tokens are not in memory while it waits.
  var withoutTarget: AuthorizedCall {
    var call = self
    call.target = nil
    return call
  }

  /// Returns whether the policy's permission also covers an account that the call does not name: a
  /// call that names the account would be allowed too, under conditions that are no stricter.
  func covers(_ record: AccountRecord) -> Bool {
    let named = request.about(record)
    guard caller.maySee(record, named), case .allowed(let other) = caller.decide(named) else {
      return false
    }
    return (permit.needsConfirmation || !other.needsConfirmation)
      && (permit.localAuthSeconds ?? .max) <= (other.localAuthSeconds ?? .max)
  }

  /// Runs the call, records its outcome in the audit log and returns the response.
  func perform(_ body: () throws(UsherError) -> Response) throws(UsherError) -> Response {
    let response = try recordingFailure(body)
    switch response {
    // The call is not authorized yet: it first reads the disk or asks the user database.
    case .cold, .resumed: return response
    case .now:
      succeeded()
      return response
    case .cacheable(var reply):
      succeeded()
      reply.decision = decision
      return .cacheable(reply)
    case .later(let body):
      return .later { [call = withoutTarget] () async throws(UsherError) in
        try await call.run { () async throws(UsherError) in (try await body(), nil) }
      }
    }
  }

  /// Returns a response that runs `body` in a task of its own and then records the outcome of the
  /// RPC call in the audit log.
  ///
  /// - Parameter flow: Returns the flow that the call has started; nil if it starts none.
  func later<Reply: Encodable & Sendable>(
    starting flow: @escaping @Sendable (Reply) -> FlowID? = { _ in nil },
    _ body: @escaping @Sendable () async throws(UsherError) -> Reply
  ) -> Response {
    .later { [call = withoutTarget] () async throws(UsherError) in
      try await call.run { () async throws(UsherError) in
        let reply = try await body()
        return (try ReplyEncoder.encode(reply), flow(reply))
      }
    }
  }

  /// Runs a check before the call is answered in a task, and records a failure in the audit log.
  /// The check runs on the event loop, so that a flood of refused calls starts no tasks.
  func recordingFailure<Value>(_ body: () throws(UsherError) -> Value) throws(UsherError) -> Value {
    do throws(UsherError) {
      return try body()
    } catch {
      throw failed(error)
    }
  }

  /// Runs a call that waits, and records its outcome in the audit log. All log entries and audit
  /// rows that the call causes have the same correlation ID.
  ///
  /// - Parameter body: Returns the reply, and the flow if the call started one.
  private func run(
    _ body: @Sendable () async throws(UsherError) -> (reply: [UInt8], flow: FlowID?)
  ) async throws(UsherError) -> [UInt8] {
    let cause = audit.dependencies.correlationID()
    let result: Result<[UInt8], UsherError> = await Cause.$correlation.withValue(cause) {
      do throws(UsherError) {
        let (reply, flow) = try await body()
        if Task.isCancelled, request.traits.audit == .everythingAggregated {
          // A caller that no longer waits, for example after a lock, does not receive the secret.
          _ = failed(UsherError(.cancelled, "the caller no longer waits"))
        } else {
          succeeded(flow: flow)
        }
        return .success(reply)
      } catch {
        return .failure(failed(error))
      }
    }
    return try result.get()
  }

  /// Whether outcomes of the method are recorded in the audit log, not only denials.
  private var isAudited: Bool { request.traits.audit != .denials }

  /// The decision in a form that also applies to later identical calls, as long as rules and
  /// accounts stay the same; nil if such calls need more checks.
  private var decision: CachedReply.Decision? {
    guard isAudited, request.weekMinute == nil, permit.conditions.isEmpty,
      case .token(let scope, let audience)? = disclosure
    else { return nil }
    var event = self.event
    event.scope = scope
    event.audience = audience
    return AuditRepeat(event, by: caller.audited).map {
      .init(accounts: generation, audit: audit, call: $0)
    }
  }

  /// Records that the call was answered.
  ///
  /// - Parameters:
  ///   - flow: The flow that the call started.
  ///   - failure: The error if the call was answered but achieved nothing.
  func succeeded(flow: FlowID? = nil, with failure: UsherError.Reason? = nil) {
    guard isAudited else { return }
    var event = self.event
    event.flow = flow
    event.failure = failure
    // A row that several calls share cannot have the correlation ID of one of them.
    if flow != nil { event.correlationID = Cause.correlation?.rawValue ?? "" }
    switch disclosure {
    case nil: break
    case .token(let scope, let audience):
      event.scope = scope
      event.audience = audience
    case .storedObjects(of: let uid): event.owner = uid
    case .profiles(let profiles):
      for (account, fields) in profiles() {
        event.account = account
        event.fields = fields
        audit.record(event, by: caller.audited)
      }
      return
    }
    audit.record(event, by: caller.audited)
  }

  /// Records that the call has failed.
  ///
  /// - Returns: The error for the caller, with the correlation ID of the audit row.
  func failed(_ error: UsherError) -> UsherError {
    isAudited ? audit.record(error, of: event, by: caller) : error
  }

  private var event: AuditEvent {
    var conditions = permit.conditions
    // If the object of a call does not exist for the caller, no confirmation or proof of presence
    // is requested.
    if request.isUnknown { conditions.subtract([.confirm, .localAuth]) }
    if request.lacksAccount { conditions.subtract(.confirm) }
    return AuditEvent(request, .allowed, rule: permit.rule, conditions: conditions)
  }
}

extension AuthorizedCall {
  /// Authorizes a call by its method alone, for methods that also work while the daemon is locked.
  init(
    ungated method: (some Method).Type, _ caller: Caller, _ audit: AuditRecorder
  ) throws(UsherError) {
    let request = PolicyRequest(method)
    self.init(
      request: request, caller: caller, permit: try audit.permit(request, caller), audit: audit)
  }
}

extension AuditRecorder {
  /// Asks the access policy about a call; a denial is recorded in the audit log.
  ///
  /// - Parameter accountError: The error if the account that the call acts on cannot be determined.
  func permit(
    _ request: PolicyRequest, _ caller: Caller, _ accountError: UsherError? = nil
  ) throws(UsherError) -> Permit {
    switch caller.decide(request) {
    case .allowed(let permit): return permit
    case .denied(let denial): throw denied(denial, request, caller, accountError)
    }
  }

  func denied(
    _ denial: Denial, _ request: PolicyRequest, _ caller: Caller, _ accountError: UsherError? = nil
  ) -> UsherError {
    denied(
      denial.error(request, accountError), request, caller, rule: denial.rule,
      unmet: denial.cause.unmet)
  }

  /// Records a denial in the audit log.
  ///
  /// - Returns: The error with the correlation ID of the audit row.
  func denied(
    _ error: UsherError, _ request: PolicyRequest, _ caller: Caller, rule: String,
    conditions: AuditConditions = [], unmet: AuditConditions
  ) -> UsherError {
    record(
      error,
      of: AuditEvent(
        request, .denied, rule: rule, conditions: conditions.union(unmet), unmet: unmet),
      by: caller)
  }

  /// Records a call that ends with an error in the audit log.
  ///
  /// - Returns: The error with the correlation ID of the audit row.
  fileprivate func record(
    _ error: UsherError, of event: AuditEvent, by caller: Caller
  ) -> UsherError {
    var (error, event) = (error, event)
    let correlation = error.correlationID ?? Cause.correlation ?? dependencies.correlationID()
    error.correlationID = correlation
    event.failure = error.reason
    event.flow = error.detail.flow
    event.correlationID = correlation.rawValue
    record(event, by: caller.audited)
    return error
  }
}

extension AuditEvent {
  init(
    _ request: PolicyRequest, _ decision: Decision, rule: String,
    conditions: AuditConditions = [], unmet: AuditConditions = []
  ) {
    self.init(
      method: request.method, provider: request.provider.map { ProviderName($0) },
      kind: request.kind,
      account: (request.account?.id ?? request.named).map { AccountID($0) },
      target: request.answeringTarget ?? request.target?.text, decision: decision, rule: rule,
      conditions: conditions, unmet: unmet, correlationID: "")
  }
}

extension Permit {
  /// The conditions of the permission that the audit log records with the call.
  var conditions: AuditConditions {
    var conditions: AuditConditions = []
    if localAuthSeconds != nil { conditions.insert(.localAuth) }
    if needsConfirmation { conditions.insert(.confirm) }
    return conditions
  }
}

extension Denial.Cause {
  /// The condition of the client rule that was not met; none if no rule lists the call at all.
  var unmet: AuditConditions {
    switch self {
    case .notListed: []
    case .account: .account
    case .scope: .scope
    case .audience: .audience
    case .hours: .hours
    }
  }
}
