import Synchronization

/// The subscriptions of one connection and the events that wait for it. For any thread.
///
/// The publisher queues an event here and wakes the connection once, however many events wait. The
/// connection removes them on its event loop, a slice at a time.
final class EventFeed: Sendable {
  private struct State {
    var subscriptions: [String: Subscription] = [:]
    /// The subscriptions with something to send, each once; the one that has waited longest first.
    var ready: [String] = []
    /// Events that wait in all of them.
    var queued = 0
    /// Whether the connection has been woken and has not removed everything since.
    var isAwake = false

    /// - Returns: Whether the connection has to be woken.
    mutating func change(_ name: String, _ body: (inout Subscription) -> Void) -> Bool {
      guard let place = subscriptions.index(forKey: name) else { return false }
      let before = subscriptions.values[place].queued
      let wasReady = subscriptions.values[place].isReady
      body(&subscriptions.values[place])
      queued += subscriptions.values[place].queued - before
      guard subscriptions.values[place].isReady else { return false }
      if !wasReady { ready.append(name) }
      defer { isAwake = true }
      return !isAwake
    }

    mutating func remove(_ name: String) -> Subscription? {
      guard let subscription = subscriptions.removeValue(forKey: name) else { return nil }
      queued -= subscription.queued
      ready.removeAll { $0 == name }
      return subscription
    }
  }

  /// One notification that the connection writes.
  struct Notice {
    let name: String
    let message: Subscription.Message
    /// The listener of the subscription that ends with it.
    let ended: Int?

    var line: [UInt8] { message.line(of: name) }
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.subscriptions.count } }

  /// Whether the connection has been woken and has not removed everything since.
  var isAwake: Bool { state.withLock { $0.isAwake } }

  /// Bytes of the events that wait, without the texts that they share with the bus.
  var queuedBytes: Int { state.withLock { $0.queued } * MemoryLayout<EventBus.Entry>.stride }

  /// Adds a subscription before an event can come for it.
  ///
  /// - Parameters:
  ///   - begin: Begins to listen. It is called under the feed's lock.
  ///   - past: What is queued at once; more than `limit` events end the subscription.
  /// - Returns: Whether the connection has to be woken.
  func add(
    _ name: String, limit: Int, _ begin: () -> (Subscription, past: [EventBus.Entry])
  ) -> Bool {
    state.withLock { state in
      let (subscription, past) = begin()
      state.subscriptions[name] = subscription
      if subscription.isReady { state.ready.append(name) }
      let isNews = state.change(name) { subscription in
        for entry in past { subscription.push(entry, limit: limit) }
      }
      return isNews
    }
  }

  /// - Parameter entry: Nil ends the subscription.
  /// - Returns: Whether the connection has to be woken.
  func push(_ entry: EventBus.Entry?, to name: String, limit: Int) -> Bool {
    state.withLock { state in
      state.change(name) { subscription in
        if let entry { subscription.push(entry, limit: limit) } else { subscription.lose() }
      }
    }
  }

  /// Removes what is sent next. After nil the connection is woken by the next event.
  func next() -> Notice? {
    state.withLock { state in
      guard let name = state.ready.first,
        let place = state.subscriptions.index(forKey: name),
        let message = state.subscriptions.values[place].take()
      else {
        state.isAwake = false
        return nil
      }
      state.ready.removeFirst()
      guard case .event = message else {
        return Notice(name: name, message: message, ended: state.remove(name)?.listener)
      }
      state.queued -= 1
      if state.subscriptions.values[place].isReady { state.ready.append(name) }
      return Notice(name: name, message: message, ended: nil)
    }
  }

  /// - Returns: The listener of the subscription that is removed.
  func remove(_ name: String) -> Int? { state.withLock { $0.remove(name)?.listener } }

  /// - Returns: The listeners of all subscriptions, which are removed.
  func removeAll() -> [Int] {
    state.withLock { state in
      let listeners = state.subscriptions.values.map(\.listener)
      state = State()
      return listeners
    }
  }
}
