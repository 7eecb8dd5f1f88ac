import UsherAPI
import UsherConfig
import UsherCore

/// Recorder of audit events; in the daemon, the ``AuditRecorder``.
protocol Auditing: Sendable {
  /// - Throws: `storageUnavailable` while calls cannot be recorded.
  func admit() throws(UsherError)
  func record(_ note: AuditEvent, by caller: AuditedCaller)
  /// Records a call that equals one recorded before.
  ///
  /// - Returns: False while calls cannot be recorded; then this call is not recorded.
  func again(_ call: inout AuditRepeat, at now: Timestamp) -> Bool
}

/// Call that the policy allows; it records the outcome in the audit log.
struct AuthorizedCall: Sendable {
  let request: PolicyRequest
  let caller: Caller
  let permit: Permit
  /// The data that the call hands out, and of which account; read when the call has succeeded.
  let given: Given?
  /// The generation of the accounts from before the decision.
  let accounts: Int
  /// The audit log; nil if only denials of the method are recorded.
  let audit: (any Auditing)?
  let correlation: @Sendable () -> CorrelationID

  /// Data that a call hands out.
  enum Given: Sendable {
    case token(scope: String?)
    case profiles(@Sendable () -> [(account: AccountID, fields: [String])])
    /// Objects given to or taken from this user.
    case storedObjects(of: UInt32)
  }

  /// Returns whether the permit also covers an account that the call does not name: a call that
  /// names the account is allowed, too, under conditions that are no stricter.
  func covers(_ record: AccountRecord) -> Bool {
    let named = request.about(record)
    guard caller.sees(record, named), case .allowed(let other) = caller.decide(named) else {
      return false
    }
    return (permit.needsConfirmation || !other.needsConfirmation)
      && (permit.localAuthSeconds ?? .max) <= (other.localAuthSeconds ?? .max)
  }

  /// Runs the call to its end and records the outcome in the audit log.
  func perform(_ body: () throws(UsherError) -> Response) throws(UsherError) -> Response {
    let response: Response
    do throws(UsherError) {
      response = try body()
    } catch {
      throw failed(error)
    }
    switch response {
    // The call has not been decided yet.
    case .cold, .resumed: break
    case .now: succeeded()
    case .standing(var standing):
      succeeded()
      standing.decision = decision
      return .standing(standing)
    case .later(let body):
      guard audit != nil else { break }
      return .later { () async throws(UsherError) -> [UInt8] in
        do throws(UsherError) {
          let reply = try await body()
          ended()
          return reply
        } catch {
          throw failed(error)
        }
      }
    }
    return response
  }

  /// Runs a call that waits to its end, and records the outcome in the audit log. All that the call
  /// causes has one correlation ID.
  ///
  /// - Parameter body: Returns the reply, and the flow if one began.
  func run(
    _ body: @Sendable () async throws(UsherError) -> (reply: [UInt8], flow: FlowID?)
  ) async throws(UsherError) -> [UInt8] {
    let cause = correlation()
    let result: Result<[UInt8], UsherError> = await Cause.$correlation.withValue(cause) {
      do throws(UsherError) {
        let (reply, flow) = try await body()
        succeeded(flow: flow)
        return .success(reply)
      } catch {
        return .failure(failed(error))
      }
    }
    return try result.get()
  }

  /// Records the outcome. A caller that no longer waits, as after a lock, does not get the result,
  /// so the call counts as cancelled.
  private func ended() {
    guard Task.isCancelled, request.traits.audit == .everythingAggregated else {
      return succeeded()
    }
    _ = failed(UsherError(.cancelled, "the caller no longer waits"))
  }

  /// The decision, if it applies to later identical calls as long as rules and accounts stay the
  /// same; nil if such calls need more checks.
  private var decision: CachedReply.Decision? {
    guard let audit, request.moment == nil, permit.conditions.isEmpty,
      case .token(let scope)? = given
    else { return nil }
    var note = event(.allowed)
    note.scope = scope
    return AuditRepeat(note, by: caller.audited).map {
      .init(accounts: accounts, audit: audit, call: $0)
    }
  }

  /// Records success.
  ///
  /// - Parameter flow: The flow that began.
  func succeeded(flow: FlowID? = nil) {
    guard let audit else { return }
    var note = event(.allowed)
    note.flow = flow
    // A row that several calls share cannot have the correlation ID of one of them.
    if flow != nil { note.correlationID = Cause.correlation?.rawValue ?? "" }
    switch given {
    case nil: audit.record(note, by: caller.audited)
    case .token(let scope):
      note.scope = scope
      audit.record(note, by: caller.audited)
    case .storedObjects(of: let uid):
      note.owner = uid
      audit.record(note, by: caller.audited)
    case .profiles(let profiles):
      for (account, fields) in profiles() {
        note.account = account
        note.fields = fields
        audit.record(note, by: caller.audited)
      }
    }
  }

  /// Records a failure.
  ///
  /// - Returns: The error for the caller, with the correlation ID of the audit entry.
  func failed(_ error: UsherError) -> UsherError {
    guard let audit else { return error }
    var error = error
    let correlation = error.correlationID ?? Cause.correlation ?? correlation()
    error.correlationID = correlation
    var note = event(.allowed)
    note.failure = error.reason
    note.flow = error.detail.flow
    note.correlationID = correlation.rawValue
    audit.record(note, by: caller.audited)
    return error
  }

  private func event(_ decision: AuditEvent.Decision) -> AuditEvent {
    var conditions = permit.conditions
    // No person or proof is asked for a call about an object that does not exist for the caller.
    if request.isUnknown { conditions.subtract([.confirm, .localAuth]) }
    if request.lacksAccount { conditions.subtract(.confirm) }
    return AuditEvent(request, decision, rule: permit.rule, conditions: conditions)
  }
}

extension AuditEvent {
  init(
    _ request: PolicyRequest, _ decision: Decision, rule: String,
    conditions: AuditConditions = [], unmet: AuditConditions = [],
    failure: UsherError.Reason? = nil, correlation: CorrelationID? = nil
  ) {
    self.init(
      method: request.method, provider: request.provider.map { ProviderName($0) },
      kind: request.kind,
      account: (request.account?.id ?? request.named).map { AccountID($0) }, decision: decision,
      rule: rule, conditions: conditions, unmet: unmet, failure: failure,
      correlationID: correlation?.rawValue ?? "")
  }
}

extension Permit {
  /// The conditions that the permit sets for the call.
  var conditions: AuditConditions {
    var conditions: AuditConditions = []
    if localAuthSeconds != nil { conditions.insert(.localAuth) }
    if needsConfirmation { conditions.insert(.confirm) }
    return conditions
  }
}

extension Denial.Cause {
  /// The condition that was not met; none if no rule lists the call.
  var unmet: AuditConditions {
    switch self {
    case .notListed: []
    case .account: .account
    case .scope: .scope
    case .hours: .hours
    }
  }
}
