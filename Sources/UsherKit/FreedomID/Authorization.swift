import UsherAPI
import UsherClient
import UsherCore

/// One authorization that has begun: has its screens shown, hands in what the person does there,
/// and tells its outcome.
struct Authorization: Sendable {
  private enum Event: Sendable {
    case moved(Flow)
    case answered(FreedomIDAnswer, ticket: Int)
    /// The answer to a revision did not lead on.
    case unmoved(Int, FreedomIDProblem)
    case lost(any Error)
  }

  let session: FlowSession
  /// Nil when it is gone.
  let presenter: @Sendable () -> (any FreedomIDPresenter)?
  let pace: FreedomID.Pace

  /// Runs it to its end.
  ///
  /// Whoever cancels this cancels the flow; what it had come to by then is told. A flow that cannot
  /// be followed any more is cancelled too, if that is possible: what is told to have failed is not
  /// to go on.
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
      return try await end()
    } catch {
      // This task's own calls may throw at once now; the last one is another task's.
      let last = await Task { [session] in try? await session.cancel() }.value
      guard let last, last.status == .succeeded || error is CancellationError else { throw error }
      return last
    }
  }

  private func end() async throws -> Flow {
    let (events, feed) = AsyncStream.makeStream(of: Event.self)
    let follower = Task { await follow(feed) }
    var asking: Task<Void, Never>?
    defer {
      follower.cancel()
      asking?.cancel()
    }
    var course = ScreenStateMachine()
    for await event in events {
      let order =
        switch event {
        case .moved(let flow): course.moved(flow)
        case .answered(let answer, let ticket): course.answered(answer, ticket: ticket)
        case .unmoved(let revision, let problem): course.unmoved(revision, problem)
        case .lost(let error): throw error
        }
      switch order {
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

  private func follow(_ feed: AsyncStream<Event>.Continuation) async {
    do {
      var flow = session.flow
      feed.yield(.moved(flow))
      while !flow.status.isFinished {
        flow = try await session.change(after: flow.revision, patience: pace.patience)
        feed.yield(.moved(flow))
      }
    } catch {
      feed.yield(.lost(error))
    }
  }

  /// The presenter has a task of its own: however long a person takes, the flow's end is told.
  private func ask(
    _ screen: FreedomIDScreen, _ problem: FreedomIDProblem?, _ ticket: Int,
    _ feed: AsyncStream<Event>.Continuation
  ) throws -> Task<Void, Never> {
    guard let presenter = presenter() else {
      throw KitError(.cancelled, "the presenter is gone")
    }
    return Task {
      feed.yield(.answered(await presenter.answer(screen, problem: problem), ticket: ticket))
    }
  }
}

// MARK: - Answers

extension Authorization {
  /// Hands an answer in, once: what was typed is typed again where it is not known to have arrived.
  ///
  /// Where the flow has moved on, its follower tells so.
  private func submit(
    _ input: FlowInput, _ seen: Flow, _ feed: AsyncStream<Event>.Continuation
  ) async throws {
    let problem: FreedomIDProblem?
    do {
      // The same problem again is no change of the flow.
      problem = try await session.submit(input, answering: seen).problem.map { .init($0) }
    } catch let error as UsherError where error.leavesAnswerOpen {
      try await lookAgain()
      problem = .lost
    } catch let failure as ConnectionError where failure.mayPass {
      try await lookAgain()
      problem = .lost
    } catch let error as UsherError where error.refusesAnswer {
      problem = .init(error)
    } catch let error as UsherError where error.hasMovedOn {
      return
    }
    if let problem, session.flow.revision == seen.revision {
      feed.yield(.unmoved(seen.revision, problem))
    }
  }

  private func lookAgain() async throws {
    var left = pace.patience
    while true {
      do {
        try await session.refresh()
        return
      } catch let failure as ConnectionError where failure.mayPass && left > .zero {
        try await Task.sleep(for: pace.pause)
        left -= pace.pause
      }
    }
  }
}

extension UsherError {
  /// Whether it is not known if the answer arrived.
  fileprivate var leavesAnswerOpen: Bool { reason == .deadlineExceeded }

  /// Whether the answer came too late for its step.
  fileprivate var hasMovedOn: Bool { [.conflict, .flowFinished].contains(reason) }

  /// Whether the answer was not taken, and another may be.
  fileprivate var refusesAnswer: Bool {
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
