/// Gathers the replies of one batch: they leave as one array, once all are in.
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
/// Replies stand in the order of their calls, whenever they came. JSON-RPC 2.0 § 6.
package struct BatchCollector: Sendable {
  private var slots: [Slot]
  private var open: Int
  /// Bytes of the replies that came so far.
  package private(set) var filledBytes = 0

  private enum Slot: Sendable {
    case notification
    case waiting
    case filled([UInt8])
  }

  package enum OnReply: Sendable, Hashable {
    /// Other replies are still to come.
    case waiting
    /// The last one came: the array to send, without a line end.
    case complete([UInt8])
    /// A notification's, a second one for the same call, or an index that is not there.
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

  /// Whether there is nothing to wait for, and nothing to send if nothing was filled.
  package var expectsNothing: Bool { open == 0 }

  /// - Parameter reply: One response object, complete.
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
