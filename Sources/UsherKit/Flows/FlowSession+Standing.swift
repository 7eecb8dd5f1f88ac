import UsherAPI
import UsherClient

extension Flow {
  /// Whether it is not for the daemon to go on: somebody has to act, or it has ended.
  var stands: Bool {
    if status.isFinished { return true }
    guard let step else { return false }
    return step.kind != .wait
  }

  /// - Throws: ``KitError`` when it has ended without success.
  func unfailed() throws -> Flow {
    if let failure { throw KitError(failure) }
    return self
  }

  /// - Throws: ``KitError`` when it has ended without success, or its last input did not move it on.
  func unhindered() throws -> Flow {
    if let problem { throw KitError(problem) }
    return try unfailed()
  }
}

extension FlowSession {
  /// The pauses in which a daemon that is away is asked what became of an answer.
  private static let pauses: [Duration] =
    [100, 200, 400, 800, 1600, 2000, 2000, 2000].map { .milliseconds($0) }

  /// The flow as soon as it is there, or has ended; for as long as that takes.
  func first(where isThere: (Flow) -> Bool) async throws -> Flow {
    var flow = flow
    while !flow.status.isFinished && !isThere(flow) {
      flow = try await change(after: flow.revision)
    }
    return flow
  }

  /// Answers the step of `seen` and goes on until the flow is there, or has ended.
  ///
  /// Where the connection was lost meanwhile, the daemon is asked whether the answer arrived. It is
  /// never given twice (RPC.md § Transport).
  ///
  /// - Throws: The connection's trouble when the answer did not arrive.
  func answer(
    _ input: FlowInput, to seen: Flow, until isThere: (Flow) -> Bool = \.stands
  ) async throws -> Flow {
    do {
      try await submit(input, answering: seen)
    } catch let fault as ConnectionError where fault.mayPass {
      guard try await lookAgain(after: fault).revision > seen.revision else { throw fault }
    }
    return try await first(where: isThere)
  }

  private func lookAgain(after fault: ConnectionError) async throws -> Flow {
    for pause in Self.pauses {
      do {
        return try await refresh()
      } catch let fault as ConnectionError where fault.mayPass {
        try await Task.sleep(for: pause)
      }
    }
    throw fault
  }
}
