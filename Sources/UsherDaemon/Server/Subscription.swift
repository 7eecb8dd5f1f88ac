import JSONRPC
import UsherAPI

/// One subscription of one connection: a bounded queue, ended by `events.lost` when it overflows.
struct Subscription {
  /// Of one connection.
  static let most = 16

  let listener: Int
  private var queue: [EventBus.Entry] = []
  private var hasLost = false
  /// Of the last event that was handed out.
  private var cursor: Int

  init(listener: Int, cursor: Int) {
    self.listener = listener
    self.cursor = cursor
  }

  /// Ends it: something has happened that it will not tell.
  mutating func lose() { hasLost = true }

  mutating func push(_ entry: EventBus.Entry, limit: Int) {
    guard !hasLost else { return }
    if queue.count < limit {
      queue.append(entry)
    } else {
      hasLost = true
    }
  }

  /// The next notification to send; `isLast` where it ends the subscription.
  mutating func next(_ name: String) -> (line: [UInt8], isLast: Bool)? {
    if !queue.isEmpty {
      let entry = queue.removeFirst()
      cursor = entry.cursor
      let params = EventNotification(
        subscription: name, cursor: entry.cursor, event: entry.event)
      return (Self.line(EventNotification.name, params), false)
    }
    guard hasLost else { return nil }
    return (Self.line(EventsLost.name, EventsLost(subscription: name, cursor: cursor)), true)
  }

  private static func line(_ method: String, _ params: some Encodable) -> [UInt8] {
    var line: [UInt8] = []
    line.appendNotification(method: method, params: try? ReplyEncoder.encode(params))
    return line
  }
}
