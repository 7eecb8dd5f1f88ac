import UsherAPI
import UsherConfig
import UsherCore

/// Who the audit is told of. In the daemon it is the ``AuditRecorder``.
protocol Auditing: Sendable {
  /// - Throws: `storageUnavailable` while what happens cannot be recorded.
  func admit() throws(UsherError)
  func note(_ note: AuditEvent, by caller: AuditedCaller)
  /// The same for a call that has been noted before.
  ///
  /// - Returns: False while what happens cannot be recorded; then it is not noted.
  func again(_ call: inout AuditRepeat, at now: Timestamp) -> Bool
}

/// A call that the policy lets go on, and what the audit is told when it has ended.
struct AuthorizedCall: Sendable {
  let request: PolicyRequest
  let caller: Caller
  let permit: Permit
  /// What was given of which account; asked when the call has succeeded.
  let given: Given?
  /// The generation of the accounts, before it was decided.
  let accounts: Int
  /// Nil where only what is denied is recorded.
  let audit: (any Auditing)?
  let correlation: @Sendable () -> CorrelationID

  /// What a call gave away.
  enum Given: Sendable {
    case token(scope: String?)
    case profiles(@Sendable () -> [(account: AccountID, fields: [String])])
    /// To or from this user.
    case possessions(of: UInt32)
  }

  /// Returns whether the permit is good for an account that the call does not name: a call that names
  /// it is allowed as well, and no more is asked of it.
  func covers(_ record: AccountRecord) -> Bool {
    let named = request.about(record)
    guard caller.sees(record, named), case .allowed(let other) = caller.decide(named) else {
      return false
    }
    return (permit.needsConfirmation || !other.needsConfirmation)
      && (permit.localAuthSeconds ?? .max) <= (other.localAuthSeconds ?? .max)
  }

  /// Runs the call to its end, and tells the audit of it.
  func follow(_ body: () throws(UsherError) -> Response) throws(UsherError) -> Response {
    let response: Response
    do throws(UsherError) {
      response = try body()
    } catch {
      throw failed(error)
    }
    switch response {
    // Nothing is decided of what is on the disk, or not made yet.
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

  /// Runs a call that waits to its end, and tells the audit of it: under one correlation id, which is
  /// that of all it causes.
  ///
  /// - Parameter body: Brings the reply, and the flow that began.
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

  /// What comes for a caller who waits no more, as after a lock, is not given to him.
  private func ended() {
    guard Task.isCancelled, request.traits.audit == .everythingAggregated else {
      return succeeded()
    }
    _ = failed(UsherError(.cancelled, "the caller waits no more"))
  }

  /// What holds for other calls like this as long as rules and accounts are what they are; nil where
  /// it takes more.
  private var decision: CachedReply.Decision? {
    guard let audit, request.moment == nil, permit.conditions.isEmpty,
      case .token(let scope)? = given
    else { return nil }
    var note = note(.allowed)
    note.scope = scope
    return AuditRepeat(note, by: caller.audited).map {
      .init(accounts: accounts, audit: audit, call: $0)
    }
  }

  /// - Parameter flow: The flow that began.
  func succeeded(flow: FlowID? = nil) {
    guard let audit else { return }
    var note = note(.allowed)
    note.flow = flow
    // Rows that many calls share are of none of them.
    if flow != nil { note.correlationID = Cause.correlation?.rawValue ?? "" }
    switch given {
    case nil: audit.note(note, by: caller.audited)
    case .token(let scope):
      note.scope = scope
      audit.note(note, by: caller.audited)
    case .possessions(of: let uid):
      note.owner = uid
      audit.note(note, by: caller.audited)
    case .profiles(let profiles):
      for (account, fields) in profiles() {
        note.account = account
        note.fields = fields
        audit.note(note, by: caller.audited)
      }
    }
  }

  /// - Returns: The error as the caller gets it: under the audit's correlation id.
  func failed(_ error: UsherError) -> UsherError {
    guard let audit else { return error }
    var error = error
    let correlation = error.correlationID ?? Cause.correlation ?? correlation()
    error.correlationID = correlation
    var note = note(.allowed)
    note.failure = error.reason
    note.flow = error.detail.flow
    note.correlationID = correlation.rawValue
    audit.note(note, by: caller.audited)
    return error
  }

  private func note(_ decision: AuditEvent.Decision) -> AuditEvent {
    var conditions = permit.conditions
    // Of what is not there for the caller nobody is asked.
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
  /// What it asks of the call.
  var conditions: AuditConditions {
    var conditions: AuditConditions = []
    if localAuthSeconds != nil { conditions.insert(.localAuth) }
    if needsConfirmation { conditions.insert(.confirm) }
    return conditions
  }
}

extension Denial.Cause {
  /// The condition that did not hold; none where no rule lists the call.
  var unmet: AuditConditions {
    switch self {
    case .notListed: []
    case .account: .account
    case .scope: .scope
    case .hours: .hours
    }
  }
}
