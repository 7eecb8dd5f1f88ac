import UsherCore

/// Recorded call that may be repeated with the same audit data. It remembers its position in the
/// counts, so that the position is looked up once a minute and not on every call.
struct AuditRepeat: Sendable {
  let note: AuditEvent
  let caller: AuditedCaller
  /// The position in the counts of the minute in which the call was last recorded.
  var place: AuditAggregator.Place?

  /// Creates a repeat; nil if each such call is a row of its own.
  init?(_ note: AuditEvent, by caller: AuditedCaller) {
    guard note.isRepeatable else { return nil }
    self.note = note.shortened
    self.caller = caller
  }
}
