package import FoundationEssentials

/// The most recent messages, as a value.
package struct OutboxTable: Sendable {
  package struct Entry: Sendable, Hashable {
    package let id: String
    package let at: Date
    package let message: Message
    /// The state of the e-mail; nil if the message does not leave the sandbox.
    package var delivery: MailDelivery?
  }

  /// The largest number of messages. The oldest is dropped when the table is full.
  package static let limit = 1000

  /// All messages, oldest first.
  package private(set) var entries: [Entry] = []
  private var added = 0

  package init() {}

  package mutating func add(_ message: Message, delivery: MailDelivery? = nil, at now: Date) {
    added += 1
    if entries.count == Self.limit { entries.removeFirst() }
    entries.append(Entry(id: "msg_\(added)", at: now, message: message, delivery: delivery))
  }

  /// Returns the messages that match both filters, newest first; a nil filter matches all.
  package func matching(to: String?, provider: String?) -> [Entry] {
    entries.reversed().filter {
      (to == nil || $0.message.to == to) && (provider == nil || $0.message.provider == provider)
    }
  }

  /// The oldest message that still has to be sent as an e-mail.
  package var nextWaiting: Entry? { entries.first { $0.delivery == .waiting } }

  /// Records the state of a message's e-mail; does nothing if the message was dropped meanwhile.
  package mutating func update(_ delivery: MailDelivery, of id: String) {
    guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
    entries[index].delivery = delivery
  }

  package mutating func removeAll() {
    entries.removeAll()
  }
}

extension OutboxTable.Entry: Encodable {
  private enum CodingKeys: String, CodingKey { case id, at, delivered }

  /// Encodes the message and this entry's own members as one object; `at` is in seconds since 1970.
  package func encode(to encoder: any Encoder) throws {
    try message.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encode(at.timeIntervalSince1970, forKey: .at)
    try container.encodeIfPresent(delivery?.description, forKey: .delivered)
  }
}
