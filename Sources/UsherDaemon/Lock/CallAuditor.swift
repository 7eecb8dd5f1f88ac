import UsherAPI
import UsherConfig
import UsherCore

/// Decides on and records calls that are answered whether the daemon is locked or not.
struct CallAuditor: Sendable {
  private let processContext: ProcessContext

  init(_ processContext: ProcessContext) { self.processContext = processContext }

  func permit(_ method: String, _ caller: Caller) throws(UsherError) -> Permit {
    let request = PolicyRequest(method: method)
    switch caller.decide(request) {
    case .allowed(let permit): return permit
    case .denied(let denial):
      var error = UsherError(.permissionDenied, "you may not call \(method)")
      let correlation = processContext.dependencies.correlationID()
      error.correlationID = correlation
      processContext.audit.record(
        AuditEvent(
          request, .denied, rule: denial.rule, unmet: denial.cause.unmet, failure: error.reason,
          correlation: correlation),
        by: caller.audited)
      throw error
    }
  }

  /// - Parameter failure: The error if the call was answered but achieved nothing.
  func record(
    _ method: String, _ permit: Permit, _ caller: Caller, failure: UsherError.Reason? = nil
  ) {
    let request = PolicyRequest(method: method)
    processContext.audit.record(
      AuditEvent(request, .allowed, rule: permit.rule, failure: failure), by: caller.audited)
  }

  /// Records a failed call.
  ///
  /// - Returns: The error with the correlation ID of the audit entry.
  func recorded(
    _ error: UsherError, _ method: String, _ permit: Permit, _ caller: Caller
  ) -> UsherError {
    var error = error
    let correlation = processContext.dependencies.correlationID()
    error.correlationID = correlation
    processContext.audit.record(
      AuditEvent(
        PolicyRequest(method: method), .allowed, rule: permit.rule, failure: error.reason,
        correlation: correlation),
      by: caller.audited)
    return error
  }
}
