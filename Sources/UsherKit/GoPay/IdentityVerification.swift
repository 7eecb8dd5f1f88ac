import FoundationEssentials
import UsherAPI
import UsherClient
import UsherCore

/// Runs a verification that has begun: shows its pages, has its credential exchanged, and returns
/// its outcome.
struct IdentityVerification: Sendable {
  /// The maximum number of times that an answer is sent.
  private static let attempts = 10

  private enum Event: Sendable {
    case flowChanged(Flow)
    case exchanged(code: Secret, ExchangeResult)
    case lost(any Error)
  }

  let session: FlowSession
  let presenter: any Presenter
  let receiver: CredentialReceiver
  let retryTiming: GoPaySDK.RetryTiming

  /// Runs the verification to its end.
  ///
  /// Cancelling the task cancels the flow, and the flow's final state decides the outcome. A flow
  /// that cannot be followed any more is cancelled too, if possible, because a verification that is
  /// reported as failed must not continue.
  func outcome() async throws -> VerifyResult {
    let flow: Flow
    do {
      flow = try await runToEnd()
    } catch {
      flow = try await last(after: error)
    }
    return try VerifyResult(flow)
  }

  private func last(after error: any Error) async throws -> Flow {
    // This task may be cancelled and its calls would throw at once, so another task makes this
    // call.
    let last = await Task { [session] in try? await session.cancel() }.value
    guard let last, last.status == .succeeded || error is CancellationError else { throw error }
    return last
  }

  private func runToEnd() async throws -> Flow {
    let (events, feed) = AsyncStream.makeStream(of: Event.self)
    let watcher = Task { await watchFlow(feed) }
    defer { watcher.cancel() }
    var machine = VerifyStateMachine()
    for await event in events {
      switch event {
      case .flowChanged(let flow):
        switch machine.flowChanged(flow) {
        case .present(let page): try present(page)
        case .exchange(let code, let requestID): exchange(code, requestID, feed)
        case .wait: continue
        case .end: return flow
        }
      case .exchanged(let code, let result):
        if machine.acceptAnswer(for: code) { try await answer(code, result) }
      case .lost(let error): throw error
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
}

// MARK: - The steps

extension IdentityVerification {
  private func present(_ page: String) throws {
    guard let url = URL(string: page) else {
      throw KitError(.unexpected, "the page to open has no valid address")
    }
    presenter.present(url)
  }

  /// Calls the handler in a task of its own, so that a slow handler does not delay the flow's end.
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

  /// Submits the result of the exchange, and repeats that while the flow waits for it.
  ///
  /// An accepted answer raises the flow's revision, so it is never accepted twice.
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
        case .shuttingDown: try await Task.sleep(for: retryTiming.pause)
        default: throw error
        }
      } catch let error as ConnectionError where error.mayPass {
        problem = error
        try await Task.sleep(for: retryTiming.pause)
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
