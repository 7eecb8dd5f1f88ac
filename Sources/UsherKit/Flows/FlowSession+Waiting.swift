import UsherClient

extension Flow {
  /// Whether the flow has ended, or waits for the person or the app rather than for the daemon.
  var isSettled: Bool {
    if status.isFinished { return true }
    guard let step else { return false }
    return step.kind != .wait
  }

  /// Returns the flow unless it has failed.
  ///
  /// - Throws: ``KitError`` if the flow has ended without success.
  func requireNoFailure() throws -> Flow {
    if let failure { throw KitError(failure) }
    return self
  }

  /// Returns the flow unless it has failed or has refused the last answer.
  ///
  /// - Throws: ``KitError`` if the flow has ended without success, or has a problem with the last
  ///   answer.
  func requireNoProblem() throws -> Flow {
    if let problem { throw KitError(problem) }
    return try requireNoFailure()
  }
}

extension FlowSession {
  /// Waits without a time limit until the flow satisfies a condition or has ended.
  func waitUntil(_ isReached: (Flow) -> Bool) async throws -> Flow {
    var flow = flow
    while !flow.status.isFinished && !isReached(flow) {
      flow = try await change(after: flow.revision)
    }
    return flow
  }

  /// Answers the step of the flow `seen`, and waits until the flow satisfies a condition or has
  /// ended.
  ///
  /// If the connection is lost, this asks the daemon whether the answer arrived. An answer is never
  /// sent twice.
  ///
  /// - Throws: `UsherError`; `ConnectionError` if the answer did not arrive or the daemon cannot be
  ///   reached.
  func answer(
    _ input: FlowInput, to seen: Flow, until isReached: (Flow) -> Bool = \.isSettled
  ) async throws -> Flow {
    try await submitOnce(input, answering: seen)
    return try await waitUntil(isReached)
  }

  /// Runs a closure on the flow, and cancels the flow if the task is cancelled.
  func cancelOnTaskCancellation<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      try Task.checkCancellation()
      let value = try await body()
      try Task.checkCancellation()
      return value
    } catch {
      if Task.isCancelled {
        await cancelIgnoringErrors()
        throw CancellationError()
      }
      throw error
    }
  }
}
