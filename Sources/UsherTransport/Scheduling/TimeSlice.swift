package import NIOCore

/// Time for which a connection works before others may. The clock is read only once for several
/// calls or about 2 KiB of input and output, and not at all for an endless slice.
@usableFromInline
package struct TimeSlice: Sendable {
  /// The start of the measured time; nil before the clock is read for the first time.
  package private(set) var start: NIODeadline?
  package private(set) var isOver = false
  private let length: TimeAmount?
  /// The effort, in bytes and equivalents, since the clock was read last.
  @usableFromInline var effort = 0

  /// Slice for a user that has the event loop alone: long enough that reading the clock costs
  /// nothing, short enough not to delay a new connection.
  static let alone = TimeSlice(length: .milliseconds(2))
  /// Slice without an end, for the admin socket and for refusing the remaining calls of a
  /// connection that ends.
  package static let endless = TimeSlice(length: nil)

  private init(length: TimeAmount?) { self.length = length }

  init(_ length: TimeAmount, since start: NIODeadline) {
    self.length = length
    self.start = start
  }
}

// These are called for each line and each reply, so they are inlined into the module of the caller.
// For that, the type must be usable from inline, too.
extension TimeSlice {
  /// Adds the bytes of a line that was read or a reply that was written; reads the clock every few
  /// calls.
  @inlinable
  package mutating func spend(_ bytes: Int) { spend(effort: bytes + 512) }

  /// Counts one call of a JSON-RPC batch against the time slice, and always reads the clock.
  @inlinable
  package mutating func spendCall() { spend(effort: 2049) }

  /// Adds bytes that were only copied, which is much cheaper than handling them.
  @inlinable
  package mutating func spendCopy(_ bytes: Int) { spend(effort: bytes / 16) }

  @inlinable
  mutating func spend(effort: Int) {
    self.effort += effort
    if self.effort > 2048 { readClock() }
  }

  @usableFromInline
  mutating func readClock() {
    effort = 0
    guard let length else { return }
    let now = SocketLoop.now
    if let start { isOver = now - start >= length } else { start = now }
  }
}
