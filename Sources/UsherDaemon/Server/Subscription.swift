import JSONRPC
import UsherAPI

/// A subscription to events on one connection: a bounded queue of events. If the queue overflows,
/// the subscription ends with the notification `events.lost`.
struct Subscription {
  /// The maximum number of subscriptions of one connection.
  static let maxPerConnection = 16

  /// A message that the subscription sends to its client.
  enum Message {
    case event(EventBus.Entry)
    /// Ends the subscription. The cursor is that of the last event that was sent.
    case lost(cursor: Int)

    /// Returns the JSON-RPC notification as a line without its line end.
    func line(of name: String) -> [UInt8] {
      switch self {
      case .event(let entry):
        Subscription.line(
          EventNotification.name,
          EventNotification(subscription: name, cursor: entry.cursor, event: entry.event))
      case .lost(let cursor):
        Subscription.line(EventsLost.name, EventsLost(subscription: name, cursor: cursor))
      }
    }
  }

  let listener: Int
  private var queue: [EventBus.Entry] = []
  /// The older part of the queue, the newest event first, to remove the oldest in constant time.
  private var oldest: [EventBus.Entry] = []
  private var hasLostEvents = false
  /// The cursor of the last event that was handed out for sending.
  private var cursor: Int

  init(listener: Int, cursor: Int) {
    self.listener = listener
    self.cursor = cursor
  }

  /// The number of events that wait to be sent.
  var queued: Int { queue.count + oldest.count }

  /// Whether the subscription has a message to send.
  var isReady: Bool { hasLostEvents || queued > 0 }

  /// Ends the subscription, because the client will miss an event.
  mutating func markLost() { hasLostEvents = true }

  mutating func push(_ entry: EventBus.Entry, limit: Int) {
    guard !hasLostEvents else { return }
    if queued < limit {
      queue.append(entry)
    } else {
      hasLostEvents = true
    }
  }

  /// Removes and returns the next message.
  mutating func nextMessage() -> Message? {
    if oldest.isEmpty {
      oldest = queue.reversed()
      queue = []
    }
    if let entry = oldest.popLast() {
      cursor = entry.cursor
      return .event(entry)
    }
    return hasLostEvents ? .lost(cursor: cursor) : nil
  }

  private static func line(_ method: String, _ params: some Encodable) -> [UInt8] {
    var line: [UInt8] = []
    line.appendNotification(method: method, params: try? ReplyEncoder.encode(params))
    return line
  }
}
