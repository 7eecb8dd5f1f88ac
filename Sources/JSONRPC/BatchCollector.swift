/// Collects the replies to the calls of a JSON-RPC batch. They are sent as one array when all of
/// them have arrived.
///
/// ```swift
/// var batch = BatchCollector(elements)
/// if batch.expectsNothing { return }          // notifications only: no bytes at all
/// switch batch.fill(index, with: reply) {     // index: the element's place in the batch
/// case .complete(let line): write(line)
/// case .waiting, .ignore: break
/// }
/// ```
///
/// The array has the order of the calls, whatever the order of arrival (JSON-RPC 2.0 § 6).
package struct BatchCollector: Sendable {
  private var slots: [Slot]
  private var open: Int
  /// The total number of bytes of the batch's replies so far.
  package private(set) var filledBytes = 0

  private enum Slot: Sendable {
    case notification
    case waiting
    case filled([UInt8])
  }

  package enum OnReply: Sendable, Hashable {
    /// Replies to other calls of the batch are still missing.
    case waiting
    /// All replies have arrived. The value is the array to send, without a line end.
    case complete([UInt8])
    /// The reply is for a notification, a second one for the same call, or for an invalid index.
    case ignore
  }

  package init(_ elements: [Scanned.Element]) {
    slots = elements.map { element in
      switch element {
      case .call(let call): call.kind == .notification ? .notification : .waiting
      case .refused: .waiting
      }
    }
    open = 0
    for case .waiting in slots { open += 1 }
  }

  /// Whether no reply is missing. A batch of notifications expects no replies, so it is complete
  /// from the start.
  package var isComplete: Bool { open == 0 }

  /// Adds the reply to the call at an index of the batch. The reply is a complete response object.
  package mutating func fill(_ index: Int, with reply: [UInt8]) -> OnReply {
    guard slots.indices.contains(index), case .waiting = slots[index] else { return .ignore }
    slots[index] = .filled(reply)
    filledBytes += reply.count
    open -= 1
    return open == 0 ? .complete(line()) : .waiting
  }

  private func line() -> [UInt8] {
    var line: [UInt8] = []
    line.appendBatch(
      slots.compactMap { slot in
        switch slot {
        case .filled(let reply): reply
        case .notification, .waiting: nil
        }
      })
    return line
  }
}
