import UsherAPI
import UsherClient
import UsherCore

/// Runs an authorization that has begun: has its screens shown, submits the person's answers, and
/// returns the outcome.
struct FreedomAuthorization: Sendable {
  private enum Event: Sendable {
    case flowChanged(Flow)
    case answered(FreedomIDAnswer, ticket: Int)
    /// The answer to a revision left the flow at that revision.
    case flowUnchanged(Int, FreedomIDProblem)
    case lost(any Error)
  }

  let session: FlowSession
  /// Returns the presenter; nil if it is deallocated.
  let presenter: @Sendable () -> (any FreedomIDPresenter)?
  let retryTiming: FreedomID.RetryTiming

  /// Runs the authorization to its end.
  ///
  /// Cancelling the task cancels the flow, and the flow's final state decides the outcome. A flow
  /// that cannot be followed any more is cancelled too, if possible, because an authorization that
  /// is reported as failed must not continue.
  func outcome() async throws -> GrantedProfile {
    let isShown = !session.flow.status.isFinished
    do {
      let profile = try GrantedProfile(try await lastFlow())
      if isShown { await presenter()?.finished(.authorized) }
      return profile
    } catch {
      if isShown { await presenter()?.finished(FreedomIDEnd(error)) }
      throw error
    }
  }

  private func lastFlow() async throws -> Flow {
    do {
      return try await runToEnd()
    } catch {
      // This task may be cancelled and its calls would throw at once, so another task makes this
      // call.
      let last = await Task { [session] in try? await session.cancel() }.value
      guard let last, last.status == .succeeded || error is CancellationError else { throw error }
      return last
    }
  }

  private func runToEnd() async throws -> Flow {
    let (events, feed) = AsyncStream.makeStream(of: Event.self)
    let watcher = Task { await watchFlow(feed) }
    var asking: Task<Void, Never>?
    defer {
      watcher.cancel()
      asking?.cancel()
    }
    var machine = ScreenStateMachine()
    for await event in events {
      let action =
        switch event {
        case .flowChanged(let flow): machine.flowChanged(flow)
        case .answered(let answer, let ticket): machine.answered(answer, ticket: ticket)
        case .flowUnchanged(let revision, let problem): machine.flowUnchanged(revision, problem)
        case .lost(let error): throw error
        }
      switch action {
      case .show(let screen, let problem, let ticket):
        asking?.cancel()
        asking = try ask(screen, problem, ticket, feed)
      case .submit(let input, let seen): try await submit(input, seen, feed)
      case .giveUp: throw CancellationError()
      case .cannotShow(let kind): throw KitError.noScreen(kind)
      case .end(let flow): return flow
      case .nothing: continue
      }
    }
    throw CancellationError()
  }

  private func watchFlow(_ feed: AsyncStream<Event>.Continuation) async {
    do {
      var flow = session.flow
      feed.yield(.flowChanged(flow))
      while !flow.status.isFinished {
        flow = try await session.change(after: flow.revision, patience: retryTiming.patience)
        feed.yield(.flowChanged(flow))
      }
    } catch {
      feed.yield(.lost(error))
    }
  }

  /// Calls the presenter in a task of its own, so that a slow person does not delay the flow's end.
  private func ask(
    _ screen: FreedomIDScreen, _ problem: FreedomIDProblem?, _ ticket: Int,
    _ feed: AsyncStream<Event>.Continuation
  ) throws -> Task<Void, Never> {
    guard let presenter = presenter() else {
      throw KitError(.cancelled, "the presenter was deallocated")
    }
    return Task {
      feed.yield(.answered(await presenter.answer(screen, problem: problem), ticket: ticket))
    }
  }
}

// MARK: - Answers

extension FreedomAuthorization {
  /// Submits an answer once. If it is unknown whether it arrived, the person is asked again.
  ///
  /// If the flow has changed meanwhile, ``watchFlow(_:)`` reports that.
  private func submit(
    _ input: FlowInput, _ seen: Flow, _ feed: AsyncStream<Event>.Continuation
  ) async throws {
    let problem: FreedomIDProblem?
    do {
      // An unchanged problem does not raise the revision, so follow(_:) does not report it.
      problem = try await session.submit(input, answering: seen).problem.map { .init($0) }
    } catch let error as UsherError where error.isAnswerOutcomeUnknown {
      try await refreshWithRetries()
      problem = .lost
    } catch let failure as ConnectionError where failure.mayPass {
      try await refreshWithRetries()
      problem = .lost
    } catch let error as UsherError where error.isAnswerRefused {
      problem = .init(error)
    } catch let error as UsherError where error.isAnswerTooLate {
      return
    }
    if let problem, session.flow.revision == seen.revision {
      feed.yield(.flowUnchanged(seen.revision, problem))
    }
  }

  private func refreshWithRetries() async throws {
    var left = retryTiming.patience
    while true {
      do {
        try await session.refresh()
        return
      } catch let failure as ConnectionError where failure.mayPass && left > .zero {
        try await Task.sleep(for: retryTiming.pause)
        left -= retryTiming.pause
      }
    }
  }
}

extension UsherError {
  /// Whether it is unknown if the answer arrived.
  fileprivate var isAnswerOutcomeUnknown: Bool { reason == .deadlineExceeded }

  /// Whether the answer came too late for its step.
  fileprivate var isAnswerTooLate: Bool { [.conflict, .flowFinished].contains(reason) }

  /// Whether the answer was refused, and another one can be given.
  fileprivate var isAnswerRefused: Bool {
    [
      .invalidInput, .unexpectedInput, .messageTooLarge, .rateLimited, .overloaded, .shuttingDown,
      .storageUnavailable,
    ].contains(reason)
  }
}

extension KitError {
  fileprivate static func noScreen(_ kind: Step.Kind) -> KitError {
    KitError(
      .notConfigured,
      "the SDK has no screen for a step \(kind.rawValue): is the provider's mode device?")
  }
}
