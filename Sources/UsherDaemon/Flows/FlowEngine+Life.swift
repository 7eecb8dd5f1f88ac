import FoundationEssentials
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

// Restore, resume, pause and sweep.
extension FlowEngine {
  /// Loads the flows from the store. Nothing runs yet.
  ///
  /// A flow of a kind that this version does not know stays on disk unchanged, so that a later
  /// version can read it; the other flows are loaded.
  ///
  /// - Parameter goesOn: Called from time to time, so that the caller can report progress.
  /// - Returns: The flows that could not be read, each with the reason.
  /// - Throws: `storageUnavailable`, also if a row fails to decrypt.
  func restore(
    _ goesOn: () -> Void = {}
  ) async throws(UsherError) -> [(flow: FlowID, error: UsherError)] {
    var read = 0
    func count() {
      read += 1
      if read.isMultiple(of: Self.stretch) { goesOn() }
    }
    var journal: [FlowID: [Transition]] = [:]
    try store.readJournal { row in
      let transition = Transition(revision: row.revision, state: row.state, at: row.at)
      journal[row.flow, default: []].append(transition)
      count()
    }
    var unread: [(FlowID, UsherError)] = []
    var last: SealedFlow?
    repeat {
      let page = try store.flows(after: last, atMost: Self.page)
      let kept = page.map { Kept(flow: $0, journal: journal.removeValue(forKey: $0.id) ?? []) }
      for flow in try await restored(kept) {
        switch flow {
        case .session(let session): index.insert(session)
        case .unread(let id, let error): unread.append((id, error))
        }
        count()
      }
      last = page.count == Self.page ? page.last : nil
    } while last != nil
    return unread
  }

  /// A flow's row and its journal.
  private struct Kept: Sendable {
    let flow: SealedFlow
    let journal: [Transition]
  }

  private enum Restored: Sendable {
    case session(LiveFlow)
    case unread(FlowID, UsherError)
  }

  /// The number of flows that are read at a time, which bounds the rows and unpacked machines in
  /// memory.
  private static let page = 1024

  /// Decrypts and decodes flows on all processors: this takes most of a start with many flows.
  private func restored(_ flows: [Kept]) async throws(UsherError) -> [Restored] {
    let share = max(flows.count / dependencies.processors, 1)
    let outcomes = await withTaskGroup(of: Result<[Restored], UsherError>.self) { group in
      for start in stride(from: 0, to: flows.count, by: share) {
        let part = flows[start..<min(start + share, flows.count)]
        group.addTask { [self] in
          Result { () throws(UsherError) in try part.map(read) }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    var all: [Restored] = []
    for outcome in outcomes { all += try outcome.get() }
    return all
  }

  private func read(_ kept: Kept) throws(UsherError) -> Restored {
    let row = try store.open(kept.flow)
    do throws(UsherError) {
      return .session(session(row, try RestoredFlow(row, by: runner.coder), kept.journal))
    } catch {
      return .unread(row.id, error)
    }
  }

  /// The number of rows between two calls of `goesOn`.
  private static let stretch = 5000

  /// Resumes every unfinished flow in the background; returns at once. At most `mostResuming`
  /// flows resume at the same time, which bounds memory. Mail for a flow that is still queued
  /// resumes it first.
  ///
  /// - Parameter isLeftAlone: Whether an owner's flows are not resumed and only their deadlines are
  ///   watched.
  func resumeAll(except isLeftAlone: @escaping @Sendable (Owner) -> Bool = { _ in false }) {
    let runner = runner
    let unfinished = index.all.filter { !$0.isFinished }
    for session in unfinished { runner.deadlines.watch(session) }
    let sessions = unfinished.filter { !isLeftAlone($0.owner) }
    Task(executorPreference: dependencies.executor) {
      await withTaskGroup(of: Void.self) { group in
        for (number, session) in sessions.enumerated() {
          if number >= Self.mostResuming { _ = await group.next() }
          group.addTask { await runner.resumeOnce(session) }
        }
      }
    }
  }

  private static let mostResuming = 64

  /// Closes all listeners and cancels all timers; the flows continue from disk at the next start.
  func pauseAll() {
    runner.stop()
    for session in index.all { runner.pause(session) }
  }

  /// Closes the listeners and cancels the timers of one owner's flows.
  func pause(_ owner: Owner) {
    for session in index.sessions(of: owner) where !session.isFinished { runner.pause(session) }
  }

  /// Resumes the flows of one owner, as after a start.
  func resume(_ owner: Owner) async {
    for session in index.sessions(of: owner) where !session.isFinished {
      if session.isToResume { await runner.resumeOnce(session) } else { runner.resume(session) }
    }
  }

  /// Cancels the flows of one owner, and deletes them and the owner's request ids.
  ///
  /// - Returns: The number of deleted flows.
  func forget(_ owner: Owner) async throws(UsherError) -> Int {
    let sessions = index.sessions(of: owner)
    for session in sessions where !session.isFinished {
      _ = try await cancel(session.id, owner: owner)
    }
    try await store.commit(sessions.map { .deleteFlow($0.id) } + [.forgetAllRequests(of: owner)])
    for session in sessions { index.remove(session) }
    return sessions.count
  }

  /// Whether no flow is processing mail.
  var isIdle: Bool { runner.isIdle }

  private func session(
    _ row: FlowRow, _ flow: RestoredFlow, _ transitions: [Transition]
  ) -> LiveFlow {
    let family = SharedFlowMetadata(
      owner: row.owner, provider: row.provider, kind: row.kind, client: flow.client,
      uid: flow.uid, credentials: flow.credentials)
    return LiveFlow(
      id: row.id, family: runner.families.kept(family), requestID: row.requestID,
      createdAt: row.createdAt,
      standing: .init(
        machine: flow.machine,
        view: flow.machine?.view ?? FlowView(state: flow.state, step: .wait(.init(for: ""))),
        ending: flow.ending, revision: row.revision, updatedAt: row.updatedAt,
        expiresAt: row.expiresAt),
      transitions: transitions, packed: flow.packed, isToResume: flow.machine != nil)
  }

  /// Deletes finished flows beyond their age or the user's limit, and expired request ids; ends
  /// flows that expired because the wall clock was set forward or the machine was suspended.
  func sweep() async throws(UsherError) {
    runner.deadlines.review()
    let now = dependencies.clock.now()
    let limits = dependencies.config.limits
    let keep = Duration.seconds(limits.finishedFlowHours * 3600)
    let finished = index.all.filter(\.isFinished)
    var old = finished.filter { $0.updatedAt + keep <= now }
    let users = dependencies.subordinates.current
    for (_, flows) in Dictionary(grouping: finished, by: { $0.owner.limitHolder(users) })
    where flows.count > limits.finishedFlowsPerUser {
      let newest = flows.sorted { $0.updatedAt > $1.updatedAt }
      old += newest.dropFirst(limits.finishedFlowsPerUser).filter { $0.updatedAt + keep > now }
    }
    try await store.commit(old.map { .deleteFlow($0.id) } + [.forgetRequests(expiredBy: now)])
    for session in old { index.remove(session) }
  }
}
