import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Runs the effects that flow machines ask for, such as provider calls, and reports their outcomes.
///
/// Every effect has a deadline: the provider's request timeout or the flow's expiry.
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
  /// The flows that are processing mail, and the effects that soon report an outcome: all but those
  /// that wait for a person or for a file descriptor.
  let work = WorkCounter()

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
      await http.send($0, for: $1)
    }
    self.listeners = listeners
    self.answers = answers
  }

  /// Starts an effect and returns at once; `report` receives the outcome later, exactly once.
  func perform(
    _ effect: EngineEffect, _ flow: LiveFlow, _ machine: any FlowMachine,
    report: @escaping @Sendable (EngineEvent) -> Void
  ) {
    let provider = machine.config
    func run(_ effect: @escaping @Sendable () async -> EngineEvent) {
      work.begin()
      Task(executorPreference: dependencies.executor) { [work] in
        report(await effect())
        work.end()
      }
    }
    switch effect {
    case .call(let call): run { [self] in await send(call, provider, flow) }
    case .discover: run { [self] in .discovered(await metadata.discovery(of: provider)) }
    case .verifyIDToken(let token, let kind, let metadata):
      run { [self] in
        .idTokenVerified(
          await verifier.verify(token, as: kind, metadata: metadata, provider: provider))
      }
    case .sign(let object):
      run { [self] in .signed(http.sign(object, for: provider, in: flow.credentials)) }
    case .verifySignature(let text):
      run { [self] in .idTokenVerified(await signatures.verify(text, provider: provider)) }
    case .listen(let expectation):
      Task(executorPreference: dependencies.executor) { [self] in
        report(await listen(expectation, flow, report))
      }
    case .stopListening: stopListening(flow)
    case .ask(let question): answers.answer(question, flow, report: report)
    // Already carried out: the decision was stored together with the account.
    case .store: break
    case .wake(let delay):
      flow.setTimer(dependencies.scheduler.after(delay) { report(.woken) })
    }
  }

  /// Saves which fingers are enrolled, in the background. If that fails, later scans are compared
  /// with the fingers that were saved before.
  func saveFingers(_ flow: LiveFlow) {
    work.begin()
    Task(executorPreference: dependencies.executor) { [self] in
      await answers.localAuth.saveFingers(flow)
      work.end()
    }
  }

  /// Releases the fingerprint reader if the flow no longer waits for a fingerprint.
  func releaseReader(_ flow: LiveFlow) { answers.localAuth.release(flow) }

  /// Whether the effect would wait for a redirect with the same state as another flow's listener.
  func isStateInUse(_ effect: EngineEffect) -> Bool {
    guard case .listen(let expectation) = effect else { return false }
    return listeners.isStateInUse(expectation)
  }

  func stopListening(_ flow: LiveFlow) { flow.setListener(nil)?.close() }

  /// Prevents further redirect listeners; a listener that is being opened is closed.
  func stop() { isStopped.withLock { $0 = true } }

  /// Closes the flow's redirect listener with its connections, and releases the fingerprint reader.
  func releaseResources(of flow: LiveFlow) {
    flow.setListener(nil)?.closeAll()
    answers.localAuth.stop(flow)
  }

  /// Sends a call whose outcome is ignored, such as the revocation of an unused token.
  func cleanUp(_ call: any ProviderCall, _ provider: ProviderConfig, _ flow: LiveFlow) {
    work.begin()
    Task(executorPreference: dependencies.executor) { [self] in
      _ = await http.send(call, for: provider, in: flow.credentials)
      work.end()
    }
  }

  /// Makes a call to the provider. Returns `.providerChanged` if the call was not sent because its
  /// credential now belongs to another provider.
  private func send(
    _ call: any ProviderCall, _ provider: ProviderConfig, _ flow: LiveFlow
  ) async -> EngineEvent {
    let outcome =
      if let account = call.account {
        await bearer.send(
          call, of: account, for: provider, in: flow.credentials,
          on: flow.client ?? CallerPolicy.ownPrograms)
      } else {
        await bearer.send(call, for: provider, in: flow.credentials, of: flow.owner)
      }
    guard case .unreachable(let message, sent: false) = outcome,
      let change = http.change(of: provider, in: flow.credentials), change.message == message
    else { return .called(call, outcome) }
    return .providerChanged(change)
  }

  private func listen(
    _ expectation: RedirectExpectation, _ flow: LiveFlow,
    _ report: @escaping @Sendable (EngineEvent) -> Void
  ) async -> EngineEvent {
    flow.setListener(nil)?.close()
    do throws(RedirectListenError) {
      let listener = try await open(expectation, flow, report)
      flow.setListener(listener)?.close()
      if isStopped.withLock({ $0 }) { releaseResources(of: flow) }
      if flow.isFinished { stopListening(flow) }
      return .browser(.listening(redirectURI: listener.redirectURI))
    } catch {
      switch error {
      case .portInUse(let message, let isOtherUser):
        return .browser(.listenFailed(message, mayReachAnother: isOtherUser, isBusy: false))
      case .stateInUse: return .stateInUse
      case .noDescriptors(let error):
        return .browser(.listenFailed(error.message, mayReachAnother: true, isBusy: true))
      case .failed:
        let message = "no listener for the redirect can be opened on this machine"
        return .browser(.listenFailed(message, mayReachAnother: true, isBusy: false))
      }
    }
  }

  /// The number of seconds for which a flow waits for a free file descriptor.
  private static let descriptorWaitSeconds = 30

  /// Opens a redirect listener. Retries while the process is short of file descriptors, because
  /// some may soon be closed.
  private func open(
    _ expectation: RedirectExpectation, _ flow: LiveFlow,
    _ report: @escaping @Sendable (EngineEvent) -> Void
  ) async throws(RedirectListenError) -> RedirectListener {
    var left = Self.descriptorWaitSeconds
    while true {
      do throws(RedirectListenError) {
        return try await listeners.open(expectation, for: flow.uid) {
          [weak flow, scheduler = dependencies.scheduler] answer in
          let revision = flow?.snapshot.revision ?? 0
          report(.browser(.redirected(answer)))
          return await flow?.page(after: revision, scheduler)
        }
      } catch {
        guard case .noDescriptors = error, left > 0, !flow.isFinished,
          !isStopped.withLock({ $0 })
        else { throw error }
        left -= 1
        await dependencies.scheduler.pause(.seconds(1))
      }
    }
  }
}

extension LiveFlow {
  /// The maximum wait for the flow, longer than the browser's wait (`RedirectTimes.outcome`).
  private static let maxPageWait = Duration.seconds(10)

  /// Returns the page for the browser that delivered an answer when the flow was at this revision,
  /// once the flow has processed the answer.
  fileprivate func page(after revision: Int, _ scheduler: any Scheduler) async -> RedirectPage {
    let snapshot = await wait(Self.maxPageWait, scheduler) { snapshot in
      snapshot.isFinished || snapshot.revision > revision && snapshot.view.step.kind != .wait
    }
    return RedirectPage(snapshot, kind: kind)
  }
}
