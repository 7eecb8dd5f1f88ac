import UsherCore

/// Call on whose behalf the current task works, for the journal.
enum Cause {
  /// The correlation ID of the call; nil if none caused the work, as for a provider's callback or a
  /// timer.
  @TaskLocal static var correlation: CorrelationID?
}
