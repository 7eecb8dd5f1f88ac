import Testing

/// Returns the outcome of a call, and runs `meanwhile` beside it.
///
/// When the call ends, `meanwhile` is cancelled, so that its expectations fail if it still waits
/// for something that only the call would do.
func outcome<Outcome: Sendable>(
  of call: @escaping @Sendable () async -> Outcome,
  meanwhile: @escaping @Sendable () async throws -> Void
) async throws -> Outcome {
  try await withThrowingTaskGroup(of: Outcome?.self) { group in
    group.addTask { await call() }
    group.addTask {
      try await meanwhile()
      return nil
    }
    var outcome: Outcome?
    for try await ended in group {
      guard let ended else { continue }
      outcome = ended
      group.cancelAll()
    }
    return try #require(outcome)
  }
}
