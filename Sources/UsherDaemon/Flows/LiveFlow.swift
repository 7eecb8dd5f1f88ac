import JSONRPC
import Synchronization
import UsherAPI
import UsherCore
import UsherFlows
import UsherStore

/// A flow in memory: its state, its machine, and the mail that it has to process.
///
/// Reading takes a lock and needs no task, so `flow.get` is answered on the event loop. Only
/// ``FlowEngine`` writes, one piece of mail at a time and in the order of arrival.
///
/// A flow that has not moved for a while rests: only the packed bytes of its machine stay in
/// memory, and each read unpacks them.
final class LiveFlow: Sendable {
  let id: FlowID
  private let metadata: SharedFlowMetadata
  let requestID: String?
  let createdAt: Timestamp
  let expiresAt: Timestamp

  private let current: Mutex<Current>

  /// The mutable state, together with the waiters for its next change.
  fileprivate struct Current {
    var form: Form
    var status: FlowStatus
    /// The transition to the current state.
    var last: Transition
    var earlier: [Transition]
    var mailbox: [Mail] = []
    var isDraining = false
    /// Whether the flow was restored and has not received `.resumed`, which it gets before other
    /// mail.
    var isToResume: Bool
    var isWatched = false
    /// The number of entries that `FlowHibernator` has for this flow.
    var moves: Int32 = 0
    var nextWaiter: Int32 = 0
    var waiters: [Int32: @Sendable (Standing) -> Bool] = [:]
    var timer: ScheduledTimer?
    var listener: RedirectListener?
    /// The clean-up for late outcomes; set when the flow ends and its machine is dropped.
    var compensation: Compensation?
  }

  fileprivate enum Form {
    /// With the packed form of the same machine, if it has been stored.
    indirect case awake(Standing, PackedMachine?)
    case resting(PackedMachine)
  }

  /// A flow's state between two events.
  struct Standing: Sendable {
    var machine: (any FlowMachine)?
    var view: FlowView
    var ending: FlowEnding
    var revision: Int
    var updatedAt: Timestamp
    var expiresAt: Timestamp

    var isFinished: Bool { ending.status.isFinished }

    /// The transition to this state.
    fileprivate var transition: Transition {
      Transition(revision: revision, state: view.state, at: updatedAt)
    }
  }

  /// An entry of a flow's mailbox; the flow processes one at a time.
  enum Mail: Sendable {
    /// An event is not processed on behalf of the call that started its effect.
    case event(EngineEvent)
    /// The cause is the call that makes the request. The reply is the verdict on a callback, and
    /// `match` for other requests that succeed.
    case request(Request, cause: CorrelationID? = Cause.correlation, reply: Reply)
  }

  typealias Reply = @Sendable (Result<CallbackVerdict, UsherError>) -> Void

  /// A request to the flow by an RPC call or a provider's callback, which waits for the reply.
  enum Request: Sendable {
    case submit(FlowInput, revision: Int)
    case cancel
    case callBack(ProviderCallback)
  }

  /// How many of one flow's latest transitions are in memory, from which `flow.wait` replies. All
  /// of the flow's transitions are in the store.
  private static let rememberedTransitions = 64

  /// - Parameters:
  ///   - transitions: The transitions up to the standing's revision.
  ///   - packed: The packed machine; if given, the flow rests.
  ///   - isToResume: Whether the flow was restored from the store.
  init(
    id: FlowID, metadata: SharedFlowMetadata, requestID: String?, createdAt: Timestamp,
    standing: Standing,
    transitions: [Transition], packed: PackedMachine? = nil, isToResume: Bool = false
  ) {
    self.id = id
    self.metadata = metadata
    self.requestID = requestID
    self.createdAt = createdAt
    expiresAt = standing.expiresAt
    let earlier = transitions.filter { $0.revision < standing.revision }
    current = Mutex(
      Current(
        form: packed.map { .resting($0) } ?? .awake(standing, nil),
        status: standing.ending.status, last: standing.transition,
        earlier: earlier.suffix(LiveFlow.rememberedTransitions - 1), isToResume: isToResume))
  }

  var owner: Owner { metadata.key.owner }
  var provider: ProviderName { metadata.key.provider }
  var kind: String { metadata.key.kind }
  var client: String? { metadata.key.client }
  var uid: UInt32 { metadata.key.uid }
  var credentials: CredentialTags { metadata.credentials }

  var person: LocalPerson { LocalPerson(realm: owner.realm, uid: uid) }

  var isFinished: Bool { current.withLock { $0.status.isFinished } }

  /// The time of the last transition.
  var updatedAt: Timestamp { current.withLock { $0.last.at } }

  var standing: Standing {
    let (form, last) = current.withLock { ($0.form, $0.last) }
    return standing(form, last)
  }

  private func standing(_ form: Form, _ last: Transition) -> Standing {
    switch form {
    case .awake(let standing, _): return standing
    case .resting(let packed):
      do throws(UsherError) {
        let machine = try packed.unpacked()
        return Standing(
          machine: machine, view: machine.view, ending: .active, revision: last.revision,
          updatedAt: last.at, expiresAt: expiresAt)
      } catch {
        fatalError("flow \(id) was hibernated and cannot be decoded: \(error.message)")
      }
    }
  }

  var flow: Flow { flow(standing) }

  func flow(_ standing: Standing) -> Flow {
    Flow(
      id: id, provider: provider, kind: kind, key: standing.view.key,
      status: standing.ending.status, state: standing.view.state, revision: standing.revision,
      step: standing.isFinished ? nil : standing.view.step,
      problem: standing.isFinished ? nil : standing.view.problem,
      result: standing.ending.result, failure: standing.ending.failure, requestId: requestID,
      createdAt: createdAt, updatedAt: standing.updatedAt, expiresAt: standing.expiresAt)
  }

  /// Whether a client of the owner may see the flow's step and answer it.
  func isOpen(to client: String) -> Bool { self.client.map { $0 == client } ?? true }

  func transitions(since revision: Int) -> [Transition] {
    let all = current.withLock { $0.earlier + [$0.last] }
    return all.filter { $0.revision > revision }
  }

  /// Installs a new standing and notifies the waiters. Called after it is on disk.
  ///
  /// - Parameter packed: The machine as stored; nil if the stored machine is unchanged.
  func install(_ standing: Standing, packed: PackedMachine? = nil) {
    let due = current.withLock { current in
      if standing.revision > current.last.revision {
        current.earlier.append(current.last)
        current.earlier = current.earlier.suffix(Self.rememberedTransitions - 1)
        current.last = standing.transition
      }
      // A finished flow keeps no machine: its verifier and tokens are secrets.
      let packed = standing.isFinished ? nil : packed ?? current.form.packed
      current.form = .awake(standing, packed)
      current.status = standing.ending.status
      return current.waiters
    }
    for (number, waiter) in due where waiter(standing) {
      current.withLock { _ = $0.waiters.removeValue(forKey: number) }
    }
  }
}

extension LiveFlow.Form {
  fileprivate var packed: PackedMachine? {
    switch self {
    case .awake(_, let packed): packed
    case .resting(let packed): packed
    }
  }
}

// Resting: only the packed machine stays in memory.
extension LiveFlow {
  /// Counts one more entry of this flow in `FlowHibernator`.
  func countMove() { current.withLock { $0.moves += 1 } }

  /// Counts one entry less in `FlowHibernator`. At zero, the flow rests unless its mail is being
  /// processed.
  func rest() {
    let (standing, packed) = current.withLock { current -> (Standing?, PackedMachine?) in
      current.moves -= 1
      guard current.moves == 0, !current.isDraining, !current.status.isFinished,
        case .awake(let standing, let packed) = current.form
      else { return (nil, nil) }
      return (standing, packed)
    }
    // State that exists only in memory is not packed; a machine that has some cannot rest.
    guard let standing, let packed, let machine = standing.machine,
      let unpacked = try? packed.unpacked(), unpacked.isSame(as: machine)
    else { return }
    current.withLock { current in
      guard current.moves == 0, !current.isDraining, current.last.revision == standing.revision,
        !current.status.isFinished
      else { return }
      current.form = .resting(packed)
    }
  }

  var isResting: Bool {
    current.withLock { if case .resting = $0.form { true } else { false } }
  }

  /// Whether the packed form of the machine is in memory.
  var holdsPacked: Bool { current.withLock { $0.form.packed != nil } }

  /// Marks whether the deadline is watched; returns whether that has changed.
  func setWatched(_ isWatched: Bool) -> Bool {
    current.withLock { current in
      defer { current.isWatched = isWatched }
      return current.isWatched != isWatched
    }
  }

  var isWatched: Bool { current.withLock { $0.isWatched } }
}

// The mailbox.
extension LiveFlow {
  /// Appends mail to the mailbox, after `.resumed` if a restored flow has not received that.
  ///
  /// - Parameter mail: Nil: nothing but `.resumed`.
  /// - Returns: Whether the caller must start draining, because no task is doing so.
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

  /// Whether the flow was restored from the store and has not received `.resumed`.
  var isToResume: Bool { current.withLock { $0.isToResume } }

  /// Returns the next piece of mail; nil ends the draining.
  func nextMail() -> Mail? {
    current.withLock { current in
      guard !current.mailbox.isEmpty else {
        current.isDraining = false
        return nil
      }
      return current.mailbox.removeFirst()
    }
  }

  /// Removes the requests from the mailbox and returns their replies; events stay in order.
  func takeRequests() -> [Reply] {
    current.withLock { current in
      defer { current.mailbox.removeAll { $0.reply != nil } }
      return current.mailbox.compactMap(\.reply)
    }
  }
}

extension LiveFlow.Mail {
  /// The reply that a request waits for; nil for an event.
  var reply: LiveFlow.Reply? {
    if case .request(_, _, let reply) = self { reply } else { nil }
  }

  var cause: CorrelationID? {
    if case .request(_, let cause, _) = self { cause } else { nil }
  }
}

// Resources of a live flow.
extension LiveFlow {
  func setTimer(_ timer: ScheduledTimer?) { replace(\.timer, by: timer)?.cancel() }

  /// Clean-up for outcomes that arrive after the end; contains no secret.
  var compensation: Compensation? {
    get { current.withLock { $0.compensation } }
    set { current.withLock { $0.compensation = newValue } }
  }

  /// - Returns: The previous listener, which the caller must close.
  func setListener(_ listener: RedirectListener?) -> RedirectListener? {
    replace(\.listener, by: listener)
  }

  private func replace<Value: Sendable>(
    _ member: any WritableKeyPath<Current, Value?> & Sendable, by value: Value?
  ) -> Value? {
    current.withLock { current in
      defer { current[keyPath: member] = value }
      return current[keyPath: member]
    }
  }
}

// Waiting.
extension LiveFlow {
  /// Waits until `isDue` holds, the timeout is over, or the task is cancelled; then returns the
  /// standing.
  func wait(
    _ timeout: Duration, _ scheduler: any Scheduler,
    until isDue: @escaping @Sendable (Standing) -> Bool
  ) async -> Standing {
    let latch = AsyncLatch()
    let number = current.withLock { current -> Int32? in
      guard !isDue(standing(current.form, current.last)) else { return nil }
      current.nextWaiter += 1
      current.waiters[current.nextWaiter] = { standing in
        guard isDue(standing) else { return false }
        latch.open()
        return true
      }
      return current.nextWaiter
    }
    guard let number else { return standing }
    await scheduler.wait(for: latch, atMost: timeout)
    current.withLock { _ = $0.waiters.removeValue(forKey: number) }
    return standing
  }
}
