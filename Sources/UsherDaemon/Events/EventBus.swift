import FoundationEssentials
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

/// Tells subscribers what happens; keeps the last events for those who come back.
///
/// Publishing never waits: a subscriber that does not read loses its subscription, nothing else. All
/// hear in the order of the cursors: a client that comes back with one has heard what was before.
///
/// A cursor is the moment of an event, so it does not count the events that a caller may not see, and
/// each audience has a memory of its own, so none pushes another's events out.
final class EventBus: Sendable {
  /// The callers that may see an event: everybody, or the owner of the event's subject.
  enum Audience: Hashable {
    case everybody
    case owner(Owner)
    /// Those who may answer a question of one client about one person.
    case question(LocalPerson, client: String)
  }

  /// What happened, and whose it is; nil is everybody's.
  struct Entry: Sendable {
    var cursor: Int
    var event: Event
    var owner: Owner?
    /// The account it is about, for rules that are about some only.
    var account: PolicyRequest.Account?
    /// The question it is about: for who may answer that, and nobody else.
    var question: OpenQuestion?

    var audience: Audience {
      if let question { return .question(question.person, client: question.call.client) }
      return owner.map { .owner($0) } ?? .everybody
    }
  }

  /// The last events of one audience.
  private struct Memory {
    var past: [Entry] = []
    /// The cursor of the newest event that is forgotten.
    var forgotten: Int

    /// The events after a cursor.
    func past(after cursor: Int) -> ArraySlice<Entry> {
      var (low, high) = (0, past.count)
      while low < high {
        let middle = (low + high) / 2
        if past[middle].cursor <= cursor { low = middle + 1 } else { high = middle }
      }
      return past[low...]
    }

    mutating func forget(_ count: Int) {
      guard count > 0 else { return }
      forgotten = past[count - 1].cursor
      past.removeFirst(count)
    }
  }

  private struct State {
    var cursor: Int
    var memories: [Audience: Memory] = [:]
    /// Events in all memories.
    var total = 0
    var listeners: [Int: Listener] = [:]
    var nextListener = 0
    /// What is published and not delivered yet, each with who listened then.
    var waiting: [(entry: Entry, listeners: [Listener])] = []
    var isDelivering = false
  }

  /// How listening began.
  struct Beginning {
    /// A number to stop by.
    let listener: Int
    /// The cursor of the newest event that the listener may hear.
    let cursor: Int
    /// Whether some of what came after `since` is not remembered any more.
    let hasGap: Bool
    /// The events after `since`, the oldest first. They are not delivered otherwise.
    let past: [Entry]
  }

  private typealias Listener = @Sendable (Entry) -> Void

  private let remembered: Int
  private let beginning: Int
  private let moment: @Sendable () -> Int
  private let state: Mutex<State>

  /// Events that are kept for all audiences together, as a multiple of those for one.
  private static let audiencesInFull = 16

  /// - Parameters:
  ///   - remembered: How many events are kept for `since`, for each audience.
  ///   - cursor: Where cursors begin; past every cursor of an earlier start, so that a client that
  ///     comes back with one of those is told of the gap.
  ///   - moment: The present as a cursor. Where it does not go on, cursors count.
  init(
    remembered: Int, startingAt cursor: Int = 0, moment: @escaping @Sendable () -> Int = { 0 }
  ) {
    self.remembered = remembered
    self.moment = moment
    beginning = cursor
    state = Mutex(State(cursor: cursor))
  }

  /// - Parameter record: The account it is about.
  func publish(_ event: Event, of record: AccountRecord) {
    publish(
      event, owner: record.owner,
      account: .init(record))
  }

  func publish(_ event: Event, toWhoMayAnswer question: OpenQuestion) {
    publish(event, owner: nil, question: question)
  }

  func publish(
    _ event: Event, owner: Owner?, account: PolicyRequest.Account? = nil,
    question: OpenQuestion? = nil
  ) {
    let isMine = state.withLock { state in
      state.cursor = max(state.cursor + 1, moment())
      let entry = Entry(
        cursor: state.cursor, event: event, owner: owner, account: account, question: question)
      remember(entry, in: &state)
      state.waiting.append((entry, Array(state.listeners.values)))
      defer { state.isDelivering = true }
      return !state.isDelivering
    }
    // Whoever delivers does it for others too: what a listener publishes itself comes after what it
    // heard, for every other one as well.
    guard isMine else { return }
    while let (entry, listeners) = nextDelivery() {
      for listener in listeners { listener(entry) }
    }
  }

  private func remember(_ entry: Entry, in state: inout State) {
    var memory =
      state.memories.removeValue(forKey: entry.audience)
      ?? Memory(forgotten: beginning)
    let before = memory.past.count
    memory.past.append(entry)
    // Not one by one: each time all the others move.
    if memory.past.count >= 2 * remembered { memory.forget(memory.past.count - remembered) }
    state.total += memory.past.count - before
    state.memories[entry.audience] = memory
    guard state.total > 2 * remembered * Self.audiencesInFull,
      let longest = state.memories.max(by: { $0.value.past.count < $1.value.past.count })?.key
    else { return }
    // The owner with the most remembered events gives up the older half of them.
    let count = (state.memories[longest]?.past.count ?? 0) / 2
    state.memories[longest]?.forget(count)
    state.total -= count
  }

  private func nextDelivery() -> (entry: Entry, listeners: [Listener])? {
    state.withLock { state in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.isDelivering = false
      return nil
    }
  }

  /// Begins listening: past events after `since` are delivered before this returns.
  ///
  /// - Parameters:
  ///   - sees: Which audiences the listener belongs to. What others do has no part in what is
  ///     returned. The listener itself decides about each event.
  /// - Returns: A number to stop by, the cursor of the newest event there is, and whether some of
  ///   what came after `since` is not remembered any more.
  func listen(
    since: Int?, seeing sees: (Audience) -> Bool = { _ in true },
    _ body: @escaping @Sendable (Entry) -> Void
  ) -> (listener: Int, cursor: Int, hasGap: Bool) {
    let begun = listen(
      since: since, seeing: sees, hearing: { _ in true }, atMost: .max, where: { _ in true }, body)
    for entry in begun.past { body(entry) }
    return (begun.listener, begun.cursor, begun.hasGap)
  }

  /// Begins listening: only later events are delivered to `body`.
  ///
  /// - Parameters:
  ///   - sees: Which audiences the listener belongs to. What others do has no part in what is
  ///     returned.
  ///   - hears: Which of their events it may be told of; a newer one that it may not does not move the
  ///     cursor. The listener itself decides about each event that it gets.
  ///   - most: How many past events are returned, of those that it hears and `isWanted` says yes to.
  func listen(
    since: Int?, seeing sees: (Audience) -> Bool, hearing hears: (Entry) -> Bool,
    atMost most: Int, where isWanted: (Entry) -> Bool, _ body: @escaping @Sendable (Entry) -> Void
  ) -> Beginning {
    let (listener, seen) = state.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = body
      return (state.nextListener, state.memories.filter { sees($0.key) }.map(\.value))
    }
    // Not under the lock: the rules may be asked about each event.
    let oldest =
      seen.map { memory in
        // More may be kept than is promised: that depends on what else happened.
        memory.past.count > remembered
          ? memory.past[memory.past.count - remembered - 1].cursor : memory.forgotten
      }.max() ?? beginning
    // The bus no longer knows who may hear a forgotten event, so each of them counts.
    let newest =
      seen.compactMap { $0.past.last(where: hears)?.cursor }.reduce(oldest) { max($0, $1) }
    let hasGap = since.map { !(oldest...newest).contains($0) } ?? false
    var past: [Entry] = []
    if let since, !hasGap {
      for memory in seen {
        var count = 0
        for entry in memory.past(after: since)
        where count < most && isWanted(entry) && hears(entry) {
          past.append(entry)
          count += 1
        }
      }
    }
    past.sort { $0.cursor < $1.cursor }
    return Beginning(
      listener: listener, cursor: newest, hasGap: hasGap, past: Array(past.prefix(most)))
  }

  /// Forgets the past events of an owner, and of the questions about its user.
  func forget(_ owner: Owner) {
    let person = LocalPerson(realm: owner.realm, uid: owner.uid)
    state.withLock { state in
      for audience in state.memories.keys {
        switch audience {
        case .owner(owner), .question(person, client: _):
          state.total -= state.memories.removeValue(forKey: audience)?.past.count ?? 0
        case .everybody, .owner, .question: break
        }
      }
    }
  }

  func stop(_ listener: Int) {
    state.withLock { _ = $0.listeners.removeValue(forKey: listener) }
  }
}

extension EventBus {
  /// One whose cursors are microseconds since 1970 at the start, and go on by the monotonic clock.
  static func of(_ startedAt: Timestamp, _ clock: any Clock) -> EventBus {
    let (beginning, start) = (Int(startedAt.milliseconds) * 1000, clock.monotonicNow())
    return EventBus(remembered: 1024, startingAt: beginning) {
      beginning + Int((clock.monotonicNow() - start).milliseconds) * 1000
    }
  }
}

extension Event {
  static func flow(_ what: String, _ flow: Flow, at now: Timestamp) -> Event {
    Event(
      topic: .flow, what: what, at: now, provider: flow.provider, flow: flow.id, kind: flow.kind,
      status: flow.status, state: flow.state, revision: flow.revision, step: flow.step?.kind)
  }

  static func account(_ what: String, _ record: AccountRecord, at now: Timestamp) -> Event {
    Event(topic: .account, what: what, at: now, provider: record.provider, account: record.id)
  }

  static func kyc(_ what: String, _ record: AccountRecord, at now: Timestamp) -> Event {
    Event(topic: .kyc, what: what, at: now, provider: record.provider, account: record.id)
  }

  static func token(_ what: String, _ record: AccountRecord, at now: Timestamp) -> Event {
    Event(topic: .token, what: what, at: now, provider: record.provider, account: record.id)
  }
}
