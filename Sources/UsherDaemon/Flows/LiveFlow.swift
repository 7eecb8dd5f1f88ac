import JSONRPC
import Synchronization
import UsherAPI
import UsherCore
import UsherFlows
import UsherStore

/// A flow in memory: its state, its state machine, and its mailbox of events and requests.
///
/// Reading takes a lock and needs no task, so `flow.get` is answered on the event loop. Only
/// ``FlowEngine`` writes, for one event or request at a time and in the order of arrival.
///
/// A flow that has not changed for a while hibernates: only the packed bytes of its machine stay in
/// memory, and each read unpacks them.
final class LiveFlow: Sendable {
  let id: FlowID
  private let shared: SharedFlowMetadata
  let requestID: String?
  let createdAt: Timestamp

  private let current: Mutex<Current>

  /// The mutable state of the flow.
  fileprivate struct Current {
    var form: Form
    var status: FlowStatus
    /// The transition by which the flow came to its current state.
    var last: Transition
    var earlier: [Transition]
    var mailbox: [Mail] = []
    var isDraining = false
    /// Whether the flow was restored from the store and has not received the event `.resumed` yet,
    /// which must be its first.
    var isToResume: Bool
    /// The time at which the flow expires.
    var expiresAt: Timestamp
    /// The time until which ``FlowDeadlines`` watches the flow; nil if it does not.
    var watchedUntil: Timestamp?
    /// The number of this flow's changes that ``FlowHibernator`` remembers.
    var pendingChanges: Int32 = 0
    var nextWaiter: Int32 = 0
    var waiters: [Int32: @Sendable (Snapshot) -> Bool] = [:]
    var timer: ScheduledTimer?
    var listener: RedirectListener?
    /// Cleans up after late outcomes of calls; set when the flow ends and its machine is dropped.
    var compensation: Compensation?
  }

  fileprivate enum Form {
    /// An unpacked machine, with its packed form if that has been stored.
    indirect case awake(Snapshot, PackedMachine?)
    case hibernating(PackedMachine)
  }

  /// A flow's state between two events.
  struct Snapshot: Sendable {
    var machine: (any FlowMachine)?
    var view: FlowView
    var ending: FlowEnding
    var revision: Int
    var updatedAt: Timestamp
    var expiresAt: Timestamp

    var isFinished: Bool { ending.status.isFinished }

    /// The transition that led to this state.
    fileprivate var transition: Transition {
      Transition(revision: revision, state: view.state, at: updatedAt)
    }
  }

  /// An entry of a flow's mailbox. The flow processes one entry at a time.
  enum Mail: Sendable {
    /// An event. It is not attributed to the RPC call that started the event's effect.
    case event(EngineEvent)
    /// A request of an RPC call or of a provider's callback; `cause` identifies the call. The reply
    /// is the verdict about a callback, and `match` for any other request that succeeds.
    case request(Request, cause: CorrelationID? = Cause.correlation, reply: Reply)
  }

  typealias Reply = @Sendable (Result<CallbackVerdict, UsherError>) -> Void

  /// A request to the flow by an RPC call or a provider's callback, which waits for the reply.
  enum Request: Sendable {
    case submit(FlowInput, revision: Int)
    case cancel
    case callback(ProviderCallback)
  }

  /// The number of the flow's latest transitions that are in memory, for replies to `flow.wait`.
  /// All of the flow's transitions are in the store.
  private static let maxTransitions = 64

  /// - Parameters:
  ///   - transitions: The flow's transitions so far, including that to `snapshot`.
  ///   - packed: The packed machine. If given, the flow hibernates.
  ///   - isToResume: Whether the flow was restored from the store and must be resumed.
  init(
    id: FlowID, metadata: SharedFlowMetadata, requestID: String?, createdAt: Timestamp,
    snapshot: Snapshot,
    transitions: [Transition], packed: PackedMachine? = nil, isToResume: Bool = false
  ) {
    self.id = id
    shared = metadata
    self.requestID = requestID
    self.createdAt = createdAt
    let earlier = transitions.filter { $0.revision < snapshot.revision }
    current = Mutex(
      Current(
        form: packed.map { .hibernating($0) } ?? .awake(snapshot, nil),
        status: snapshot.ending.status, last: snapshot.transition,
        earlier: earlier.suffix(LiveFlow.maxTransitions - 1), isToResume: isToResume,
        expiresAt: snapshot.expiresAt))
  }

  var owner: Owner { shared.value.owner }
  var provider: ProviderName { shared.value.provider }
  var kind: String { shared.value.kind }
  var client: String? { shared.value.client }
  var uid: UInt32 { shared.value.uid }
  var credentials: CredentialTags { shared.value.credentials }

  var person: LocalPerson { LocalPerson(realm: owner.realm, uid: uid) }

  var isFinished: Bool { current.withLock { $0.status.isFinished } }

  /// The time of the flow's last transition.
  var updatedAt: Timestamp { current.withLock { $0.last.at } }

  /// The time at which the flow expires. The flow's machine may change it.
  var expiresAt: Timestamp { current.withLock { $0.expiresAt } }

  var snapshot: Snapshot {
    let (form, last, expiresAt) = current.withLock { ($0.form, $0.last, $0.expiresAt) }
    return snapshot(form, last, expiresAt)
  }

  private func snapshot(
    _ form: Form, _ last: Transition, _ expiresAt: Timestamp
  ) -> Snapshot {
    switch form {
    case .awake(let snapshot, _): return snapshot
    case .hibernating(let packed):
      do throws(UsherError) {
        let machine = try packed.unpacked()
        return Snapshot(
          machine: machine, view: machine.view, ending: .active, revision: last.revision,
          updatedAt: last.at, expiresAt: expiresAt)
      } catch {
        fatalError("flow \(id) was hibernated and cannot be decoded: \(error.message)")
      }
    }
  }

  var flow: Flow { flow(snapshot) }

  func flow(_ snapshot: Snapshot) -> Flow {
    Flow(
      id: id, provider: provider, kind: kind, key: snapshot.view.key,
      status: snapshot.ending.status, state: snapshot.view.state, revision: snapshot.revision,
      step: snapshot.isFinished ? nil : snapshot.view.step,
      problem: snapshot.isFinished ? nil : snapshot.view.problem,
      result: snapshot.ending.result, failure: snapshot.ending.failure, requestId: requestID,
      createdAt: createdAt, updatedAt: snapshot.updatedAt, expiresAt: snapshot.expiresAt)
  }

  /// Whether a client may see and answer the flow's step: only the client that started the flow, or
  /// any client if an older version stored the flow without its client.
  func isOpen(to client: String) -> Bool { self.client.map { $0 == client } ?? true }

  func transitions(since revision: Int) -> [Transition] {
    let all = current.withLock { $0.earlier + [$0.last] }
    return all.filter { $0.revision > revision }
  }

  /// Installs a new state and notifies the waiters. Must be called after the state is on disk.
  ///
  /// - Parameter packed: The machine as it was stored; nil if the stored machine is unchanged.
  func install(_ snapshot: Snapshot, packed: PackedMachine? = nil) {
    let due = current.withLock { current in
      if snapshot.revision > current.last.revision {
        current.earlier.append(current.last)
        current.earlier = current.earlier.suffix(Self.maxTransitions - 1)
        current.last = snapshot.transition
      }
      // A finished flow keeps no machine: it contains secrets (the PKCE verifier, tokens).
      let packed = snapshot.isFinished ? nil : packed ?? current.form.packed
      current.form = .awake(snapshot, packed)
      current.status = snapshot.ending.status
      current.expiresAt = snapshot.expiresAt
      return current.waiters
    }
    for (number, waiter) in due where waiter(snapshot) {
      current.withLock { _ = $0.waiters.removeValue(forKey: number) }
    }
  }
}

extension LiveFlow.Form {
  fileprivate var packed: PackedMachine? {
    switch self {
    case .awake(_, let packed): packed
    case .hibernating(let packed): packed
    }
  }
}

// Resting: only the packed machine stays in memory.
extension LiveFlow {
  /// Counts one more change of this flow that ``FlowHibernator`` remembers.
  func countPendingChange() { current.withLock { $0.pendingChanges += 1 } }

  /// Counts one change less that ``FlowHibernator`` remembers. At zero, the flow's machine is
  /// packed unless the mailbox is being processed.
  func hibernate() {
    let (snapshot, packed) = current.withLock { current -> (Snapshot?, PackedMachine?) in
      current.pendingChanges -= 1
      guard current.pendingChanges == 0, !current.isDraining, !current.status.isFinished,
        case .awake(let snapshot, let packed) = current.form
      else { return (nil, nil) }
      return (snapshot, packed)
    }
    // The packed form lacks state that exists only in memory: such a machine stays unpacked.
    guard let snapshot, let packed, let machine = snapshot.machine,
      let unpacked = try? packed.unpacked(), unpacked.isSame(as: machine)
    else { return }
    current.withLock { current in
      guard current.pendingChanges == 0, !current.isDraining,
        current.last.revision == snapshot.revision,
        !current.status.isFinished
      else { return }
      current.form = .hibernating(packed)
    }
  }

  var isHibernating: Bool {
    current.withLock { if case .hibernating = $0.form { true } else { false } }
  }

  /// Whether the packed form of the machine is in memory.
  var hasPackedMachine: Bool { current.withLock { $0.form.packed != nil } }

  /// Sets the time until which ``FlowDeadlines`` watches the flow, nil to end the watch.
  ///
  /// - Returns: The previous time.
  func watch(until end: Timestamp?) -> Timestamp? {
    current.withLock { exchange(&$0.watchedUntil, with: end) }
  }

  /// Ends the watch if it ends at this time; returns whether it did.
  func endWatch(at end: Timestamp) -> Bool {
    current.withLock { current in
      guard current.watchedUntil == end else { return false }
      current.watchedUntil = nil
      return true
    }
  }

  var watchedUntil: Timestamp? { current.withLock { $0.watchedUntil } }
}

// The mailbox of events and requests.
extension LiveFlow {
  /// Appends an entry to the mailbox; in a restored flow, `.resumed` is put before the first one.
  ///
  /// - Parameter mail: The entry; nil to add only `.resumed`, if it is due.
  /// - Returns: Whether the caller must start processing the mailbox, because no task is doing so.
  func post(_ mail: Mail?) -> Bool {
    current.withLock { current in
      if current.isToResume {
        current.isToResume = false
        current.mailbox.append(.event(.daemon(.resumed)))
      }
      if let mail { current.mailbox.append(mail) }
      guard !current.isDraining, !current.mailbox.isEmpty else { return false }
      current.isDraining = true
      return true
    }
  }

  /// Whether the flow was restored from the store and has not received `.resumed` yet.
  var isToResume: Bool { current.withLock { $0.isToResume } }

  /// Removes and returns the next entry of the mailbox; nil if it is empty, and then processing
  /// ends.
  func nextMail() -> Mail? {
    current.withLock { current in
      guard !current.mailbox.isEmpty else {
        current.isDraining = false
        return nil
      }
      return current.mailbox.removeFirst()
    }
  }

  /// Removes all requests from the mailbox and returns the functions that reply to them. Events
  /// stay in the mailbox, in order.
  func takeRequests() -> [Reply] {
    current.withLock { current in
      defer { current.mailbox.removeAll { $0.reply != nil } }
      return current.mailbox.compactMap(\.reply)
    }
  }
}

extension LiveFlow.Mail {
  /// The function that replies to a request; nil for an event.
  var reply: LiveFlow.Reply? {
    if case .request(_, _, let reply) = self { reply } else { nil }
  }

  var cause: CorrelationID? {
    if case .request(_, let cause, _) = self { cause } else { nil }
  }
}

// The timer, the listener and the clean-up of a live flow.
extension LiveFlow {
  func setTimer(_ timer: ScheduledTimer?) {
    current.withLock { exchange(&$0.timer, with: timer) }?.cancel()
  }

  /// The clean-up for outcomes that arrive after the flow's end; contains no secret.
  var compensation: Compensation? {
    get { current.withLock { $0.compensation } }
    set { current.withLock { $0.compensation = newValue } }
  }

  /// Sets the flow's redirect listener.
  ///
  /// - Returns: The previous listener, which the caller must close.
  func setListener(_ listener: RedirectListener?) -> RedirectListener? {
    current.withLock { exchange(&$0.listener, with: listener) }
  }
}

// Waiting for a change of the flow.
extension LiveFlow {
  /// Waits until `isDue` returns true for the flow's state, the timeout is over, or the task is
  /// cancelled; then returns the state.
  func wait(
    _ timeout: Duration, _ scheduler: any Scheduler,
    until isDue: @escaping @Sendable (Snapshot) -> Bool
  ) async -> Snapshot {
    let latch = AsyncLatch()
    let number = current.withLock { current -> Int32? in
      let present = snapshot(current.form, current.last, current.expiresAt)
      guard !isDue(present) else { return nil }
      current.nextWaiter += 1
      current.waiters[current.nextWaiter] = { snapshot in
        guard isDue(snapshot) else { return false }
        latch.open()
        return true
      }
      return current.nextWaiter
    }
    guard let number else { return snapshot }
    await scheduler.wait(for: latch, atMost: timeout)
    current.withLock { _ = $0.waiters.removeValue(forKey: number) }
    return snapshot
  }
}
