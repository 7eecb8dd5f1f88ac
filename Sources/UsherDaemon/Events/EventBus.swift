import FoundationEssentials
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

/// Delivers events to subscribers, and keeps recent events for clients that reconnect.
///
/// Publishing never waits: a subscriber that does not read only loses its subscription. All
/// subscribers get events in the order of their cursors, so a client that reconnects with a cursor
/// has received everything before it.
///
/// A cursor is a time, so it does not reveal the number of events that a caller may not see. Each
/// ``Audience`` has a history of its own, so that one audience's events do not displace another's.
final class EventBus: Sendable {
  /// The callers that may see an event.
  enum Audience: Hashable {
    case everybody
    case owner(Owner)
    /// The callers that may answer a question about a call of one client, run by one person.
    case question(LocalPerson, client: String)
  }

  /// An event with the owner of its subject; an event without an owner is visible to all callers.
  struct Entry: Sendable {
    var cursor: Int
    var event: Event
    var owner: Owner?
    /// The account that the event is about, for policy rules that select accounts.
    var account: PolicyRequest.Account?
    /// The question that the event is about. Only callers that may answer it may see the event.
    var question: OpenQuestion?

    var audience: Audience {
      if let question { return .question(question.person, client: question.call.client) }
      return owner.map { .owner($0) } ?? .everybody
    }
  }

  /// The recent events of one audience.
  private struct History {
    var past: [Entry] = []
    /// The cursor of the newest event that is no longer kept.
    var dropped: Int

    /// Returns the kept events that are newer than a cursor.
    func past(after cursor: Int) -> ArraySlice<Entry> {
      var (low, high) = (0, past.count)
      while low < high {
        let middle = (low + high) / 2
        if past[middle].cursor <= cursor { low = middle + 1 } else { high = middle }
      }
      return past[low...]
    }

    mutating func drop(_ count: Int) {
      guard count > 0 else { return }
      dropped = past[count - 1].cursor
      past.removeFirst(count)
    }
  }

  private struct State {
    var cursor: Int
    var histories: [Audience: History] = [:]
    /// The number of events that are kept in all histories together.
    var total = 0
    var listeners: [Int: Listener] = [:]
    var nextListener = 0
    /// Events that are not delivered yet, each with the listeners at the time of publishing.
    var waiting: [(entry: Entry, listeners: [Listener])] = []
    var isDelivering = false
  }

  /// The start of a subscription.
  struct SubscriptionStart {
    /// The number that ``stop(_:)`` takes to end the subscription.
    let listener: Int
    /// The cursor of the newest event that the listener may see.
    let cursor: Int
    /// Whether events after `since` are no longer kept, so that the client has missed some.
    let hasGap: Bool
    /// The events after `since`, the oldest first. The listener receives them in no other way.
    let past: [Entry]
  }

  private typealias Listener = @Sendable (Entry) -> Void

  private let historyLimit: Int
  private let firstCursor: Int
  private let present: @Sendable () -> Int
  private let state: Mutex<State>

  /// The maximum number of events kept for all audiences, as a multiple of that for one audience.
  private static let maxFullHistories = 16

  /// - Parameters:
  ///   - historyLimit: The number of events that are kept for `since`, for each audience.
  ///   - cursor: The first cursor. It must exceed every cursor of an earlier start, so that a
  ///     client that reconnects with one of those learns of the gap.
  ///   - present: Returns the present as a cursor. While the present does not advance, cursors are
  ///     counted up.
  init(
    historyLimit: Int, startingAt cursor: Int = 0, present: @escaping @Sendable () -> Int = { 0 }
  ) {
    self.historyLimit = historyLimit
    self.present = present
    firstCursor = cursor
    state = Mutex(State(cursor: cursor))
  }

  func publish(_ topic: EventTopic, _ what: String, _ record: AccountRecord, at now: Timestamp) {
    publish(
      Event(topic: topic, what: what, at: now, provider: record.provider, account: record.id),
      owner: record.owner, account: .init(record))
  }

  func publish(
    _ event: Event, owner: Owner?, account: PolicyRequest.Account? = nil,
    question: OpenQuestion? = nil
  ) {
    let mustDeliver = state.withLock { state in
      state.cursor = max(state.cursor + 1, present())
      let entry = Entry(
        cursor: state.cursor, event: event, owner: owner, account: account, question: question)
      record(entry, in: &state)
      state.waiting.append((entry, Array(state.listeners.values)))
      return !exchange(&state.isDelivering, with: true)
    }
    // One task delivers the events of all publishers. So an event that a listener publishes is
    // delivered, to all listeners, after the event that the listener has just received.
    guard mustDeliver else { return }
    while let (entry, listeners) = nextDelivery() {
      for listener in listeners { listener(entry) }
    }
  }

  private func record(_ entry: Entry, in state: inout State) {
    var history =
      state.histories.removeValue(forKey: entry.audience)
      ?? History(dropped: firstCursor)
    let before = history.past.count
    history.past.append(entry)
    // Events are dropped in bulk, because each removal moves all remaining events.
    if history.past.count >= 2 * historyLimit { history.drop(history.past.count - historyLimit) }
    state.total += history.past.count - before
    state.histories[entry.audience] = history
    guard state.total > 2 * historyLimit * Self.maxFullHistories,
      let largest = state.histories.max(by: { $0.value.past.count < $1.value.past.count })?.key
    else { return }
    // The older half of the events of the audience with the most events is dropped.
    let count = (state.histories[largest]?.past.count ?? 0) / 2
    state.histories[largest]?.drop(count)
    state.total -= count
  }

  private func nextDelivery() -> (entry: Entry, listeners: [Listener])? {
    state.withLock { state in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.isDelivering = false
      return nil
    }
  }

  /// Starts listening. Only later events are delivered to `body`; past events are returned.
  ///
  /// - Parameters:
  ///   - isInAudience: Returns whether the listener may belong to an audience. Events of other
  ///     audiences do not affect the result.
  ///   - mayReceive: Returns whether the listener may see an event; other events do not advance the
  ///     cursor. The listener itself decides about each later event.
  ///   - limit: The maximum number of past events that are returned.
  ///   - isWanted: Selects the past events that are returned.
  func listen(
    since: Int?, audience isInAudience: (Audience) -> Bool = { _ in true },
    receiving mayReceive: (Entry) -> Bool = { _ in true }, atMost limit: Int = .max,
    where isWanted: (Entry) -> Bool = { _ in true }, _ body: @escaping @Sendable (Entry) -> Void
  ) -> SubscriptionStart {
    let (listener, relevant) = state.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = body
      return (state.nextListener, state.histories.filter { isInAudience($0.key) }.map(\.value))
    }
    // The lock is not held here, because `mayReceive` evaluates policy rules for each event.
    let oldest =
      relevant.map { history in
        // A history may exceed `historyLimit`, depending on when events were dropped in bulk.
        history.past.count > historyLimit
          ? history.past[history.past.count - historyLimit - 1].cursor : history.dropped
      }.max() ?? firstCursor
    // It is no longer known which callers may see a dropped event, so each one counts.
    let newest =
      relevant.compactMap { $0.past.last(where: mayReceive)?.cursor }.reduce(oldest) { max($0, $1) }
    let hasGap = since.map { !(oldest...newest).contains($0) } ?? false
    var past: [Entry] = []
    if let since, !hasGap {
      for history in relevant {
        var count = 0
        for entry in history.past(after: since)
        where count < limit && isWanted(entry) && mayReceive(entry) {
          past.append(entry)
          count += 1
        }
      }
    }
    past.sort { $0.cursor < $1.cursor }
    return SubscriptionStart(
      listener: listener, cursor: newest, hasGap: hasGap, past: Array(past.prefix(limit)))
  }

  /// Drops the kept events of an owner, and of the questions about its user.
  func removeHistory(of owner: Owner) {
    let person = LocalPerson(realm: owner.realm, uid: owner.uid)
    state.withLock { state in
      for audience in state.histories.keys {
        switch audience {
        case .owner(owner), .question(person, client: _):
          state.total -= state.histories.removeValue(forKey: audience)?.past.count ?? 0
        case .everybody, .owner, .question: break
        }
      }
    }
  }

  func stop(_ listener: Int) {
    state.withLock { _ = $0.listeners.removeValue(forKey: listener) }
  }

  /// Creates a bus whose cursors are microseconds since 1970: the wall clock at the start of the
  /// daemon, then advancing with the monotonic clock.
  static func of(_ startedAt: Timestamp, _ clock: any Clock) -> EventBus {
    let (firstCursor, start) = (Int(startedAt.milliseconds) * 1000, clock.monotonicNow())
    return EventBus(historyLimit: 1024, startingAt: firstCursor) {
      firstCursor + Int((clock.monotonicNow() - start).milliseconds) * 1000
    }
  }
}
