import UsherCore

/// A call that was noted and may come again, alike in all that the audit tells apart: with where it
/// is counted, so that it is looked up once a minute and not at every call.
struct AuditRepeat: Sendable {
  let note: AuditEvent
  let caller: AuditedCaller
  /// Of the minute in which it was last noted.
  var place: AuditAggregator.Place?

  /// Nil for what is a row of its own each time.
  init?(_ note: AuditEvent, by caller: AuditedCaller) {
    guard note.isRepeatable else { return nil }
    self.note = note.shortened
    self.caller = caller
  }
}
