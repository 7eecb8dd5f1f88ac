import UsherCore

/// A recorded call that may be repeated with the same audit data, kept by the connection. It
/// remembers its position in the ``AuditAggregator``, which is looked up only once a minute.
struct AuditRepeat: Sendable {
  let event: AuditEvent
  let caller: AuditedCaller
  /// The position in the counts of the ``AuditAggregator``, valid in the minute of the last record.
  var position: AuditAggregator.Position?

  /// Creates a repeat of a recorded call; nil if each call of this kind is an audit row of its own.
  init?(_ event: AuditEvent, by caller: AuditedCaller) {
    guard event.isRepeatable else { return nil }
    self.event = event.shortened
    self.caller = caller
  }
}
