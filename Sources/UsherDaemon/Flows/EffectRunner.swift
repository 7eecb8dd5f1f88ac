import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Does what machines want done, and brings back what became of it.
///
/// Every effect has a deadline: the provider's request time-out, or the flow's own.
final class EffectRunner: Sendable {
  private let dependencies: Dependencies
  private let http: ProviderHTTP
  private let bearer: AccountCalls
  private let metadata: MetadataCache
  private let verifier: IDTokenVerifier
  private let signatures: SignatureVerifier
  private let listeners: RedirectListeners
  private let answers: DaemonAnswers
  private let isStopped = Mutex(false)

  init(
    dependencies: Dependencies, http: ProviderHTTP, bearer: AccountCalls, metadata: MetadataCache,
    verifier: IDTokenVerifier, listeners: RedirectListeners, answers: DaemonAnswers
  ) {
    self.dependencies = dependencies
    self.http = http
    self.bearer = bearer
    self.metadata = metadata
    self.verifier = verifier
    signatures = SignatureVerifier(clock: dependencies.clock) {
      await http.send(TruecallerCall.keys, for: $0)
    }
    self.listeners = listeners
    self.answers = answers
  }

  /// Begins an effect and returns; `report` gets the outcome, later and once.
  func perform(
    _ effect: EngineEffect, _ session: FlowSession, _ machine: any AnyFlowMachine,
    report: @escaping @Sendable (EngineEvent) -> Void
  ) {
    let provider = machine.provider
    switch effect {
    case .call(let call):
      Task(executorPreference: dependencies.executor) { [self] in
        let outcome =
          if let account = call.account {
            await bearer.send(
              call, of: account, for: provider, in: session.credentials,
              on: session.client ?? CallerPolicy.ownPrograms)
          } else {
            await http.send(call, for: provider, in: session.credentials)
          }
        report(overtaking(outcome, provider, session) ?? .called(call, outcome))
      }
    case .discover:
      Task(executorPreference: dependencies.executor) { [self] in
        report(.discovered(await metadata.discovery(of: provider)))
      }
    case .verifyIDToken(let token, let metadata):
      Task(executorPreference: dependencies.executor) { [self] in
        let verdict = await verifier.verify(token, metadata: metadata, provider: provider)
        report(.idTokenVerified(verdict))
      }
    case .verifySignature(let text):
      Task(executorPreference: dependencies.executor) { [self] in
        report(.idTokenVerified(await signatures.verify(text, provider: provider)))
      }
    case .listen(let expectation):
      Task(executorPreference: dependencies.executor) { [self] in
        await listen(expectation, session, report)
      }
    case .stopListening: stopListening(session)
    case .ask(let question): answers.answer(question, session, report: report)
    // Done when it was written.
    case .keep: break
    case .wake(let delay):
      session.setTimer(dependencies.scheduler.after(delay) { report(.woken) })
    }
  }

  /// Lets the fingerprint reader go where the flow does not, or no more, wait for a finger.
  func releaseReader(_ session: FlowSession) { answers.localAuth.release(session) }

  /// Whether an effect would wait for the same redirect as another flow.
  func isTaken(_ effect: EngineEffect) -> Bool {
    guard case .listen(let expectation) = effect else { return false }
    return listeners.isTaken(expectation)
  }

  func stopListening(_ session: FlowSession) { session.setListener(nil)?.close() }

  /// From now on nothing is listened for.
  func stop() { isStopped.withLock { $0 = true } }

  /// Lets go of all that an effect of a flow has opened: browsers and the fingerprint reader.
  func letGo(_ session: FlowSession) {
    session.setListener(nil)?.closeAll()
    answers.localAuth.stop(session)
  }

  /// Sends a call whose outcome changes nothing: a token nobody will use is taken back.
  func tidy(_ call: any ProviderCall, _ provider: ProviderConfig, _ session: FlowSession) {
    Task(executorPreference: dependencies.executor) { [self] in
      _ = await http.send(call, for: provider, in: session.credentials)
    }
  }

  /// Where just this is why nothing was sent.
  private func overtaking(
    _ outcome: CallOutcome, _ provider: ProviderConfig, _ session: FlowSession
  ) -> EngineEvent? {
    guard case .unreachable(let message, sent: false) = outcome,
      let change = http.change(of: provider, in: session.credentials), change.message == message
    else { return nil }
    return .overtaken(change)
  }

  private func listen(
    _ expectation: RedirectExpectation, _ session: FlowSession,
    _ report: @escaping @Sendable (EngineEvent) -> Void
  ) async {
    session.setListener(nil)?.close()
    do throws(RedirectListenError) {
      let listener = try await open(expectation, session, report)
      session.setListener(listener)?.close()
      if isStopped.withLock({ $0 }) { letGo(session) }
      if session.isFinished { stopListening(session) }
      report(.listening(redirectURI: listener.redirectURI))
    } catch {
      switch error {
      case .taken(let message, let isAnothers):
        report(.listenFailed(message, mayReachAnother: isAnothers, isBusy: false))
      case .stateTaken: report(.stateTaken)
      case .noDescriptors(let error):
        report(.listenFailed(error.message, mayReachAnother: true, isBusy: true))
      case .failed:
        report(
          .listenFailed(
            "no listener for the redirect can be had on this machine", mayReachAnother: true,
            isBusy: false))
      }
    }
  }

  /// Seconds for which a flow waits for a file descriptor.
  private static let descriptorPatience = 30

  /// Waits a while where the process is short of descriptors: what holds them may soon be gone.
  private func open(
    _ expectation: RedirectExpectation, _ session: FlowSession,
    _ report: @escaping @Sendable (EngineEvent) -> Void
  ) async throws(RedirectListenError) -> RedirectListener {
    var left = Self.descriptorPatience
    while true {
      do throws(RedirectListenError) {
        return try await listeners.open(expectation, for: session.uid) {
          [weak session, scheduler = dependencies.scheduler] answer in
          let revision = session?.standing.revision ?? 0
          report(.redirected(answer))
          return await session?.page(after: revision, scheduler)
        }
      } catch {
        guard case .noDescriptors = error, left > 0, !session.isFinished,
          !isStopped.withLock({ $0 })
        else { throw error }
        left -= 1
        await dependencies.scheduler.pause(.seconds(1))
      }
    }
  }
}

extension FlowSession {
  /// Longer than a browser waits.
  private static let longestPage = Duration.seconds(10)

  /// What a browser shows whose answer the flow got at this revision: waits for what becomes of it.
  fileprivate func page(after revision: Int, _ scheduler: any Scheduler) async -> RedirectPage {
    let standing = await wait(Self.longestPage, scheduler) { standing in
      standing.isFinished || standing.revision > revision && standing.view.step.kind != .wait
    }
    return RedirectPage(standing)
  }
}
