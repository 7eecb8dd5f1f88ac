import UsherAPI
import UsherCore
import UsherStore

// A row's sealed payload is the `audit.list` entry; the row itself has the number and the time.

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
    let (note, caller) = (entry.note, entry.caller)
    let conditions = note.conditions.union(note.unmet)
    let held = conditions.names.map { ($0, !note.unmet.names.contains($0)) }
    self.init(
      n: 0, at: entry.at, method: note.method, provider: note.provider, kind: note.kind,
      account: note.account, scope: note.scope, fields: note.fields.isEmpty ? nil : note.fields,
      decision: note.decision == .allowed ? .allowed : .denied, rule: note.rule,
      conditions: held.isEmpty ? nil : Dictionary(held) { first, _ in first },
      outcome: note.failure?.rawValue ?? "ok", client: caller.client, uid: caller.uid,
      gid: caller.gid, pid: Int(caller.pid), unit: caller.unit, invocation: caller.invocation,
      executable: caller.executable, flow: note.flow, owner: note.owner,
      correlationId: note.correlationID.isEmpty ? nil : CorrelationID(note.correlationID),
      count: entry.count)
  }
}
