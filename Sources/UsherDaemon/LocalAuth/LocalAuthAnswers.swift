import Synchronization
import UsherAPI
import UsherCore
import UsherFlows

/// Answers the questions that flows ask the local authenticator, about passcodes and fingerprints.
final class LocalAuthAnswers: Sendable {
  private struct Scan {
    let number: Int
    let task: Task<Void, Never>
  }

  private struct State {
    var scans: [FlowID: Scan] = [:]
    var next = 0
  }

  private let service: LocalAuthService
  private let state = Mutex(State())

  init(service: LocalAuthService) { self.service = service }

  /// Starts to answer a question and returns at once; `report` receives the answers later.
  func answer(
    _ question: LocalAuthQuestion, _ liveFlow: LiveFlow,
    report: @escaping @Sendable (LocalAuthAnswer) -> Void
  ) {
    let person = liveFlow.person
    let client = liveFlow.client
    let asker = LocalAuthAsker(client: client, purpose: liveFlow.provider)
    switch question {
    case .availability:
      Task(executorPreference: service.dependencies.executor) { [self] in
        var availability = await service.availability(of: person, for: asker).0
        availability.latest = latest(person, client)
        report(.availability(availability))
      }
    case .passcodeAvailability:
      report(
        .availability(
          .init(
            biometric: .unavailable("the reader was not asked"),
            passcode: service.passcode(of: person), latest: latest(person, client))))
    case .check(let passcode, let wanted):
      Task(executorPreference: service.dependencies.executor) { [self] in
        report(.checked(await service.check(passcode, of: person, for: client, insteadOf: wanted)))
      }
    case .scan: scan(person, for: liveFlow, comparing: false, report)
    case .scanOfSavedFingers: scan(person, for: liveFlow, comparing: true, report)
    }
  }

  /// Saves which fingers are enrolled. Later scans of the flow's client at the flow's provider are
  /// compared with them.
  func saveFingers(_ liveFlow: LiveFlow) async {
    await service.saveFingers(
      of: liveFlow.person,
      for: LocalAuthAsker(client: liveFlow.client, purpose: liveFlow.provider))
  }

  /// Returns the user's last proofs of presence in flows of the client. None for a flow without a
  /// client, because any client may have seen the steps of such a flow.
  private func latest(_ person: LocalPerson, _ client: String?) -> [LocalAuthProof] {
    client.map { service.proofs(of: person, to: $0) } ?? []
  }

  /// Releases the reader unless the flow's step still waits for a finger. No result is reported
  /// after it.
  func release(_ liveFlow: LiveFlow) {
    let snapshot = liveFlow.snapshot
    if !snapshot.isFinished && snapshot.view.step.isScanning { return }
    stop(liveFlow)
  }

  /// Releases the reader.
  func stop(_ liveFlow: LiveFlow) {
    state.withLock { $0.scans[liveFlow.id]?.task.cancel() }
  }

  /// Starts a fingerprint scan once the flow's previous scan has released the reader.
  private func scan(
    _ person: LocalPerson, for liveFlow: LiveFlow, comparing: Bool,
    _ report: @escaping @Sendable (LocalAuthAnswer) -> Void
  ) {
    let (flow, client, provider) = (liveFlow.id, liveFlow.client, liveFlow.provider)
    state.withLock { state in
      let before = state.scans[flow]?.task
      let number = state.next
      state.next += 1
      let task = Task(executorPreference: service.dependencies.executor) { [self] in
        await before?.value
        if !Task.isCancelled {
          let outcome = await service.scan(
            person, for: client, at: provider, comparing: comparing
          ) { report(.hint($0)) }
          if let outcome, !Task.isCancelled { report(.scanned(outcome)) }
        }
        removeScan(number, of: flow)
      }
      state.scans[flow] = Scan(number: number, task: task)
    }
  }

  private func removeScan(_ number: Int, of flow: FlowID) {
    state.withLock { state in
      if state.scans[flow]?.number == number { state.scans[flow] = nil }
    }
  }
}

extension Step {
  fileprivate var isScanning: Bool {
    if case .localAuth(let step) = self { step.scanning } else { false }
  }
}
