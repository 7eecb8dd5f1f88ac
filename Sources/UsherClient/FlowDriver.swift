package import JSONRPC
package import UsherAPI
package import UsherCore

/// Why an answer did not advance a flow, for the caller that is asked again.
package enum AnswerFault: Sendable {
  case refused(UsherError)
  /// The daemon accepted the answer, but the flow has the same step and this problem.
  case withoutEffect(Problem?)
  /// The reply to `flow.submit` was lost, and the flow, read again, does not show that the answer
  /// arrived.
  case lost(any Error)
  /// The flow changed before the answer arrived at the daemon, so its present step is another one.
  case tooLate
}

/// Runs a flow to its end: passes each step to the caller, submits the caller's answers, and
/// follows the changes.
///
/// No answer is submitted twice. The same step is passed again only after an answer without effect.
package struct FlowDriver: Sendable {
  /// Shows the step of a flow and returns the answer; nil if the flow changes without an answer.
  ///
  /// The driver calls it for each new step or problem, and after an answer without effect. The task
  /// of the call is cancelled when the step or the problem changes; the answer is then ignored. An
  /// error ends the run.
  package typealias Respond = @Sendable (Flow, AnswerFault?) async throws -> FlowInput?

  private enum Event: Sendable {
    case answered(FlowInput)
    case changed(Flow)
  }

  private let session: FlowSession
  private let patience: Duration
  private let awaitsResponder: Bool
  private let respond: Respond

  /// Creates a driver for a flow.
  ///
  /// - Parameters:
  ///   - patience: The total pause between attempts while the daemon cannot be reached.
  ///   - awaitsResponder: Whether a cancelled call of `respond` has to return before the next one
  ///     begins and before the run ends.
  package init(
    _ session: FlowSession, patience: Duration = UsherClient.patience,
    awaitsResponder: Bool = false, respond: @escaping Respond
  ) {
    self.session = session
    self.patience = patience
    self.awaitsResponder = awaitsResponder
    self.respond = respond
  }

  /// Runs the flow to its end, and cancels it after an error.
  ///
  /// After a cancellation the final state of the flow decides, because the flow may have ended by
  /// then. Any other error is thrown unless the flow has succeeded. The flow is cancelled then, so
  /// that it does not continue after the caller was told of a failure.
  package func runOrCancel() async throws -> Flow {
    do {
      return try await run()
    } catch {
      let last = await session.cancelIgnoringErrors()
      guard let last, last.status == .succeeded || error is CancellationError else { throw error }
      return last
    }
  }

  /// Runs the flow to its end, with or without success. After an error the flow stays active.
  package func run() async throws -> Flow {
    var (flow, fault) = (session.flow, AnswerFault?.none)
    while !flow.status.isFinished {
      try Task.checkCancellation()
      switch try await nextEvent(flow, fault) {
      case .answered(let input): (flow, fault) = try await submit(input, answering: flow)
      case .changed(let changed): (flow, fault) = (changed, nil)
      }
    }
    return flow
  }

  /// Waits for an answer or for another step or problem, whichever comes first.
  ///
  /// A separate task gets the answer, so that a person who is slow to answer does not delay the
  /// flow's end.
  private func nextEvent(_ flow: Flow, _ fault: AnswerFault?) async throws -> Event {
    let (events, feed) = AsyncStream.makeStream(of: Result<Event, any Error>.self)
    let responding = Task {
      do {
        guard let input = try await answer(flow, fault) else { return }
        feed.yield(.success(.answered(input)))
      } catch {
        feed.yield(.failure(error))
      }
    }
    let watching = Task {
      do {
        feed.yield(.success(.changed(try await nextStep(after: flow))))
      } catch {
        feed.yield(.failure(error))
      }
    }
    var iterator = events.makeAsyncIterator()
    let event = await iterator.next()
    responding.cancel()
    watching.cancel()
    if awaitsResponder { await responding.value }
    guard let event else { throw CancellationError() }
    return try event.get()
  }

  /// Calls the responder, unless its task was cancelled before its turn: the flow has moved on
  /// then, and a later step may be shown already.
  package func answer(_ flow: Flow, _ fault: AnswerFault?) async throws -> FlowInput? {
    try Task.checkCancellation()
    return try await respond(flow, fault)
  }

  /// Waits until the flow has another step or problem, or has ended.
  private func nextStep(after flow: Flow) async throws -> Flow {
    var latest = flow
    repeat {
      latest = try await session.change(after: latest.revision, patience: patience)
    } while !latest.status.isFinished && latest.hasSameStep(as: flow)
    return latest
  }

  /// Submits an answer to the flow's step at its latest revision.
  ///
  /// - Throws: The error of reading the flow, if it has to be read again.
  private func submit(
    _ input: FlowInput, answering flow: Flow
  ) async throws -> (Flow, AnswerFault?) {
    let answered = session.flow
    guard answered.hasSameStep(as: flow) else { return (answered, .tooLate) }
    do {
      let new = try await session.submit(input, answering: answered)
      return (new, new.revision > answered.revision ? nil : .withoutEffect(new.problem))
    } catch let error as UsherError where [.conflict, .flowFinished].contains(error.reason) {
      try await session.refresh(patience: patience)
      return (try await session.change(after: answered.revision, patience: patience), .tooLate)
    } catch let error where error.leavesEffectUnknown {
      let new = try await session.refresh(patience: patience)
      return (new, new.showsArrival(since: answered) ? nil : .lost(error))
    } catch let error as UsherError {
      return (answered, .refused(error))
    }
  }
}

extension Flow {
  /// Whether both flows have the same step and problem, so that an answer to one is an answer to
  /// the other.
  fileprivate func hasSameStep(as other: Flow) -> Bool {
    step == other.step && problem == other.problem
  }

  /// Whether the flow, read after a reply was lost, shows that an answer to `seen` arrived: it has
  /// another step or problem, or has ended.
  ///
  /// The revision alone does not tell: it also rises when the flow passes through other states, as
  /// after a restart of the daemon. But only an input makes a flow leave a code or a password, and
  /// clears the problem, so a problem of a later revision is about a later input.
  fileprivate func showsArrival(since seen: Flow) -> Bool {
    if !hasSameStep(as: seen) { return true }
    let isTyped = step.map { [.enterCode, .enterPassword].contains($0.kind) } ?? false
    return isTyped && problem != nil && revision > seen.revision
  }
}

// MARK: - Calls of which the effect is certain

extension UsherClient {
  /// Begins a flow. Cancelling the task does not interrupt this, because it would then be unknown
  /// whether a flow was begun.
  package func beginFlow(
    provider: String, kind: String, params: JSONValue, requestId: String? = nil
  ) async throws -> FlowSession {
    try Task.checkCancellation()
    return try await Task {
      try await flow(provider: provider, kind: kind, params: params, requestId: requestId)
    }.value
  }
}

extension FlowSession {
  /// Submits an answer to the flow `seen`, and reads the flow if the reply is lost.
  ///
  /// - Throws: The error of the submission if the flow does not show that the answer arrived, or
  ///   the error of reading the flow.
  @discardableResult
  package func submitOnce(_ input: FlowInput, answering answered: Flow) async throws -> Flow {
    do {
      return try await submit(input, answering: answered)
    } catch let error where error.leavesEffectUnknown {
      let flow = try await refresh(patience: UsherClient.patience)
      guard flow.showsArrival(since: answered) else { throw error }
      return flow
    }
  }

  /// Cancels the flow, even from a cancelled task, whose own calls throw at once.
  ///
  /// - Returns: The flow after that; nil if it is unknown. A flow that is not cancelled expires.
  @discardableResult
  package func cancelIgnoringErrors() async -> Flow? {
    await Task { try? await cancel() }.value
  }
}

extension Error {
  /// Whether the call that threw this error may have had its effect.
  fileprivate var leavesEffectUnknown: Bool {
    switch self {
    case let error as UsherError: [.shuttingDown, .deadlineExceeded].contains(error.reason)
    case let fault as ConnectionError: fault.mayPass
    default: false
    }
  }
}
