import UsherAPI
import UsherCore
import UsherStore

// The encrypted payload of an audit row is the entry that `audit.list` returns, without number and
// time, which are columns of the row.

extension AuditEntry {
  init(_ entry: AuditAggregator.Entry) throws(UsherError) {
    self.init(at: entry.at, payload: try SealedPayload(encoding: AuditList.Entry(entry)))
  }
}

extension AuditList.Entry {
  init(_ row: AuditRow) throws(UsherError) {
    self = try row.payload.decoded()
    n = Int(row.n)
    at = row.at
  }

  fileprivate init(_ entry: AuditAggregator.Entry) {
    let (event, caller) = (entry.event, entry.caller)
    let conditions = event.conditions.union(event.unmet)
    let conditionResults = conditions.names.map { ($0, !event.unmet.names.contains($0)) }
    self.init(
      n: 0, at: entry.at, method: event.method, provider: event.provider, kind: event.kind,
      account: event.account, scope: event.scope, audience: event.audience,
      target: event.target, fields: event.fields.isEmpty ? nil : event.fields,
      decision: event.decision == .allowed ? .allowed : .denied, rule: event.rule,
      conditions: conditionResults.isEmpty
        ? nil : Dictionary(conditionResults) { first, _ in first },
      outcome: event.failure?.rawValue ?? "ok", client: caller.client, uid: caller.uid,
      gid: caller.gid, pid: Int(caller.pid), unit: caller.unit, invocation: caller.invocation,
      executable: caller.executable, flow: event.flow, owner: event.owner,
      correlationId: event.correlationID.isEmpty ? nil : CorrelationID(event.correlationID),
      count: entry.count)
  }
}
