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
final class EventBus: Sendable {
  /// What happened, and whose it is; nil is everybody's.
  struct Entry: Sendable {
    var cursor: Int
    var event: Event
    var owner: Owner?
    /// The account it is about, for rules that are about some only.
    var account: PolicyRequest.Account?
    /// The question it is about: for who may answer that, and nobody else.
    var question: OpenQuestion?
  }

  private struct State {
    var cursor = 0
    var past: [Entry] = []
    var listeners: [Int: Listener] = [:]
    var nextListener = 0
    /// What is published and not delivered yet, each with who listened then.
    var waiting: [(entry: Entry, listeners: [Listener])] = []
    var isDelivering = false
  }

  private typealias Listener = @Sendable (Entry) -> Void

  private let remembered: Int
  private let state: Mutex<State>

  /// - Parameters:
  ///   - remembered: How many events are kept for `since`.
  ///   - cursor: Where counting begins; past every cursor of an earlier start, so that a client that
  ///     comes back with one of those is told of the gap.
  init(remembered: Int, startingAt cursor: Int = 0) {
    self.remembered = remembered
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
      state.cursor += 1
      let entry = Entry(
        cursor: state.cursor, event: event, owner: owner, account: account, question: question)
      state.past.append(entry)
      // Not one by one: each time all the others move.
      if state.past.count >= 2 * remembered {
        state.past.removeFirst(state.past.count - remembered)
      }
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

  private func nextDelivery() -> (entry: Entry, listeners: [Listener])? {
    state.withLock { state in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.isDelivering = false
      return nil
    }
  }

  /// Begins listening: past events after `since` are delivered before this returns.
  ///
  /// - Returns: A number to stop by, the cursor of the newest event there is, and whether some of
  ///   what came after `since` is not remembered any more.
  func listen(
    since: Int?, _ body: @escaping @Sendable (Entry) -> Void
  ) -> (listener: Int, cursor: Int, hasGap: Bool) {
    let (number, cursor, hasGap, past) = state.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = body
      let remembered = state.past.suffix(remembered)
      let past = since.map { since in remembered.filter { $0.cursor > since } } ?? []
      let known = (state.cursor - remembered.count)...state.cursor
      let hasGap = since.map { !known.contains($0) } ?? false
      return (state.nextListener, state.cursor, hasGap, past)
    }
    if !hasGap { for entry in past { body(entry) } }
    return (number, cursor, hasGap)
  }

  func stop(_ listener: Int) {
    state.withLock { _ = $0.listeners.removeValue(forKey: listener) }
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
