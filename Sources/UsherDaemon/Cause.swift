import UsherCore

/// The call that what happens just now is done for, as the journal knows it.
enum Cause {
  /// Nil where nobody called: a provider answered, or a time was over.
  @TaskLocal static var correlation: CorrelationID?
}
