import UsherCore

/// The RPC call on whose behalf the current task works, for log entries.
enum Cause {
  /// The correlation ID of the RPC call; nil if no call caused the work, as for a provider's
  /// callback or a timer.
  @TaskLocal static var correlation: CorrelationID?
}
