import FoundationEssentials
import UsherAPI
import UsherClient
import UsherCore

/// One verification that has begun: shows its pages, has its credential exchanged, and tells its
/// outcome.
struct Verification: Sendable {
  /// How often an answer is given, at most, until it has arrived.
  private static let attempts = 10

  private enum Event: Sendable {
    case moved(Flow)
    case exchanged(code: Secret, ExchangeResult)
    case lost(any Error)
  }

  let session: FlowSession
  let presenter: any Presenter
  let receiver: CredentialReceiver
  let pace: GoPaySDK.Pace

  /// Runs it to its end.
  ///
  /// Whoever cancels this cancels the flow; what it had come to by then is told. A flow that cannot
  /// be followed any more is cancelled too, if that is possible: what is told to have failed is not
  /// to go on.
  func outcome() async throws -> VerifyResult {
    let flow: Flow
    do {
      flow = try await end()
    } catch {
      flow = try await last(after: error)
    }
    return try VerifyResult(flow)
  }

  private func last(after error: any Error) async throws -> Flow {
    // This task's own calls may throw at once now; the last one is another task's.
    let last = await Task { [session] in try? await session.cancel() }.value
    guard let last, last.status == .succeeded || error is CancellationError else { throw error }
    return last
  }

  private func end() async throws -> Flow {
    let (events, feed) = AsyncStream.makeStream(of: Event.self)
    let follower = Task { await follow(feed) }
    defer { follower.cancel() }
    var course = VerifyStateMachine()
    for await event in events {
      switch event {
      case .moved(let flow):
        switch course.take(flow) {
        case .present(let page): try present(page)
        case .exchange(let code, let requestID): exchange(code, requestID, feed)
        case .wait: continue
        case .end: return flow
        }
      case .exchanged(let code, let result):
        if course.takes(answerFor: code) { try await answer(code, result) }
      case .lost(let error): throw error
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
}

// MARK: - The steps

extension Verification {
  private func present(_ page: String) throws {
    guard let url = URL(string: page) else {
      throw KitError(.unexpected, "the page to open has no address that can be read")
    }
    presenter.present(url)
  }

  /// The handler has a task of its own: however long it takes, the flow's end is told.
  private func exchange(
    _ code: Secret, _ requestID: String, _ feed: AsyncStream<Event>.Continuation
  ) {
    let answer = { @Sendable (result: ExchangeResult) in
      _ = feed.yield(.exchanged(code: code, result))
    }
    switch receiver {
    case .exchange(let handler):
      Task { handler.handle(.authCode(code: code.revealed()), requestID, answer) }
    case .none: answer(.failure(reason: "this app exchanges no credentials"))
    }
  }

  /// Hands the exchange's result in, again where it did not arrive, as long as it is waited for.
  ///
  /// An answer that has arrived raises the flow's revision, so it is never taken twice.
  private func answer(_ code: Secret, _ result: ExchangeResult) async throws {
    var result = result
    var problem: (any Error)?
    for _ in 0..<Self.attempts {
      do {
        if problem != nil { try await session.refresh() }
        let seen = session.flow
        guard seen.asks(about: code) else { return }
        try await session.submit(result.input, answering: seen)
        return
      } catch let error as UsherError {
        problem = error
        switch error.reason {
        case .invalidInput: result = result.refused(error.message)
        case .conflict: break
        case .unexpectedInput, .flowFinished: return
        case .shuttingDown: try await Task.sleep(for: pace.pause)
        default: throw error
        }
      } catch let error as ConnectionError where error.mayPass {
        problem = error
        try await Task.sleep(for: pace.pause)
      }
    }
    if let problem { throw problem }
  }
}

extension Flow {
  fileprivate func asks(about code: Secret) -> Bool {
    guard case .exchangeCredential(let step)? = step else { return false }
    return step.credential.code.secret == code
  }
}
