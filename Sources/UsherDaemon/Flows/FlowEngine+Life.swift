import FoundationEssentials
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

// From a start to a stop, and what is forgotten meanwhile.
extension FlowEngine {
  /// Brings back what the store kept; nothing runs yet.
  ///
  /// A flow this version cannot read, of a kind it does not know, stays on the disk as it is: the
  /// others go on, and a version that knows it will find it.
  ///
  /// - Parameter goesOn: Called now and then where there is very much.
  /// - Returns: What could not be read, with the reason.
  /// - Throws: `storageUnavailable`, also where a row does not open.
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

  /// A flow as the store has it.
  private struct Kept: Sendable {
    let flow: SealedFlow
    let journal: [Transition]
  }

  private enum Restored: Sendable {
    case session(FlowSession)
    case unread(FlowID, UsherError)
  }

  /// Flows that are read at a time; of each its row and, for a moment, its machine is in memory.
  private static let page = 1024

  /// On all processors: to open and decode them is most of what a start with many flows takes.
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

  /// Rows that are read before the one who waits is told that it goes on.
  private static let stretch = 5000

  /// Sets every unfinished flow going again; returns at once. A few at a time, or memory for all of
  /// them would be taken at once; mail for one that has not had its turn sets it going first.
  ///
  /// - Parameter isLeftAlone: Whether an owner's flows only wait for their end.
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

  /// Lets go of listeners and timers; what is on disk goes on with the next start.
  func pauseAll() {
    runner.stop()
    for session in index.all { runner.pause(session) }
  }

  /// Lets go of the listeners and timers of one owner.
  func pause(_ owner: Owner) {
    for session in index.sessions(of: owner) where !session.isFinished { runner.pause(session) }
  }

  /// Sets the flows of one owner going again, as after a start.
  func resume(_ owner: Owner) async {
    for session in index.sessions(of: owner) where !session.isFinished {
      if session.isToResume { await runner.resumeOnce(session) } else { runner.resume(session) }
    }
  }

  /// Cancels the flows of one owner, and forgets them and the requestIds.
  ///
  /// - Returns: How many there were.
  func forget(_ owner: Owner) async throws(UsherError) -> Int {
    let sessions = index.sessions(of: owner)
    for session in sessions where !session.isFinished {
      _ = try await cancel(session.id, owner: owner)
    }
    try await store.commit(sessions.map { .deleteFlow($0.id) } + [.forgetAllRequests(of: owner)])
    for session in sessions { index.remove(session) }
    return sessions.count
  }

  /// Whether no flow is at its mail.
  var isIdle: Bool { runner.isIdle }

  private func session(
    _ row: FlowRow, _ flow: RestoredFlow, _ transitions: [Transition]
  ) -> FlowSession {
    let family = SharedFlowMetadata(
      owner: row.owner, provider: row.provider, kind: row.kind, client: flow.client,
      uid: flow.uid, credentials: flow.credentials)
    return FlowSession(
      id: row.id, family: runner.families.kept(family), requestID: row.requestID,
      createdAt: row.createdAt,
      standing: .init(
        machine: flow.machine,
        view: flow.machine?.view ?? FlowView(state: flow.state, step: .wait(.init(for: ""))),
        ending: flow.ending, revision: row.revision, updatedAt: row.updatedAt,
        expiresAt: row.expiresAt),
      transitions: transitions, packed: flow.packed, isToResume: flow.machine != nil)
  }

  /// Forgets flows that ended long ago, those beyond a user's limit, and requestIds past their time;
  /// ends flows whose time is over since the clock was set.
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
