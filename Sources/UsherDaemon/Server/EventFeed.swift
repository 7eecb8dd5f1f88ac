import Synchronization

/// The event subscriptions of one connection and the events that wait to be sent. Safe to use from
/// any thread.
///
/// The publisher of an event queues it here and wakes the connection once, however many events
/// wait. The connection removes the events on its event loop, a time slice at a time.
final class EventFeed: Sendable {
  private struct State {
    var subscriptions: [String: Subscription] = [:]
    /// The names of the subscriptions with something to send, each once, in the order of turns.
    var ready: [String] = []
    /// The number of events that wait to be sent, over all subscriptions of the connection.
    var queued = 0
    /// Whether the connection has been woken and has not removed all events since.
    var isAwake = false

    /// Changes a subscription.
    ///
    /// - Returns: Whether the connection must be woken.
    mutating func change(_ name: String, _ body: (inout Subscription) -> Void) -> Bool {
      guard let index = subscriptions.index(forKey: name) else { return false }
      let before = subscriptions.values[index].queued
      let wasReady = subscriptions.values[index].isReady
      body(&subscriptions.values[index])
      queued += subscriptions.values[index].queued - before
      guard subscriptions.values[index].isReady else { return false }
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

  /// A JSON-RPC notification that the connection writes.
  struct Notice {
    let name: String
    let message: Subscription.Message
    /// The listener to remove from the event bus if this notification ends the subscription; else
    /// nil.
    let ended: Int?

    var line: [UInt8] { message.line(of: name) }
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.subscriptions.count } }

  /// Whether the connection has been woken and has not removed all events since.
  var isAwake: Bool { state.withLock { $0.isAwake } }

  /// The size of the waiting events in bytes, without the texts that they share with the event bus.
  var queuedBytes: Int { state.withLock { $0.queued } * MemoryLayout<EventBus.Entry>.stride }

  /// Adds a subscription. No event for it is missed.
  ///
  /// - Parameter begin: Starts listening, under the feed's lock. Returns the subscription with the
  ///   past events to queue; more than `limit` of them end the subscription.
  /// - Returns: Whether the connection must be woken.
  func add(
    _ name: String, limit: Int, _ begin: () -> (Subscription, past: [EventBus.Entry])
  ) -> Bool {
    state.withLock { state in
      let (subscription, past) = begin()
      state.subscriptions[name] = subscription
      if subscription.isReady { state.ready.append(name) }
      let needsWakeUp = state.change(name) { subscription in
        for entry in past { subscription.push(entry, limit: limit) }
      }
      return needsWakeUp
    }
  }

  /// Queues an event for the subscription of the given name.
  ///
  /// - Parameter entry: The event; nil ends the subscription.
  /// - Returns: Whether the connection must be woken.
  func push(_ entry: EventBus.Entry?, to name: String, limit: Int) -> Bool {
    state.withLock { state in
      state.change(name) { subscription in
        if let entry { subscription.push(entry, limit: limit) } else { subscription.markLost() }
      }
    }
  }

  /// Removes and returns the next notification. After nil, the next event wakes the connection.
  func next() -> Notice? {
    state.withLock { state in
      guard let name = state.ready.first,
        let index = state.subscriptions.index(forKey: name),
        let message = state.subscriptions.values[index].nextMessage()
      else {
        state.isAwake = false
        return nil
      }
      state.ready.removeFirst()
      guard case .event = message else {
        return Notice(name: name, message: message, ended: state.remove(name)?.listener)
      }
      state.queued -= 1
      if state.subscriptions.values[index].isReady { state.ready.append(name) }
      return Notice(name: name, message: message, ended: nil)
    }
  }

  /// Removes a subscription and returns its listener on the event bus.
  func remove(_ name: String) -> Int? { state.withLock { $0.remove(name)?.listener } }

  /// Removes all subscriptions and returns their listeners on the event bus.
  func removeAll() -> [Int] {
    state.withLock { state in
      let listeners = state.subscriptions.values.map(\.listener)
      state = State()
      return listeners
    }
  }
}
