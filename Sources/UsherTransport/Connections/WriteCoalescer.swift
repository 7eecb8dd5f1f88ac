/// Pool of output buffers for a loop's connections, and the list of connections with unsent
/// replies.
///
/// Replies to calls that were ready in the same loop iteration are sent together at its end.
/// Otherwise a client with several calls in progress would be woken for each reply. On the event
/// loop only.
@usableFromInline
package final class WriteCoalescer {
  /// Bytes of a connection's replies above which they are sent without delay.
  @inlinable package static var enough: Int { 16_384 }
  /// Maximum total capacity, in bytes, of the pooled buffers.
  private static let mostKept = 1 << 20

  private var buffers: [[UInt8]] = []
  /// Total capacity of `buffers` in bytes.
  private var kept = 0
  private var unsent: [any ScheduledConnection] = []

  /// Lets a connection send its written replies at the end of the loop iteration. The connection
  /// must not be put off already.
  package func putOff(_ connection: any ScheduledConnection) { unsent.append(connection) }

  /// Sends all delayed replies at the end of a loop iteration.
  func sendAll() {
    guard !unsent.isEmpty else { return }
    var connections: [any ScheduledConnection] = []
    swap(&connections, &unsent)
    for connection in connections { connection.sendPutOff() }
    guard unsent.isEmpty else { return }
    connections.removeAll(keepingCapacity: true)
    unsent = connections
  }

  /// Returns an empty output buffer.
  package func takeBuffer() -> [UInt8] {
    if let room = buffers.popLast() {
      kept -= room.capacity
      return room
    }
    var room: [UInt8] = []
    room.reserveCapacity(4096)
    return room
  }

  /// Returns a buffer to the pool.
  ///
  /// - Parameter used: An empty buffer whose bytes have been wiped.
  package func returnBuffer(_ used: [UInt8]) {
    guard kept + used.capacity <= Self.mostKept else { return }
    kept += used.capacity
    buffers.append(used)
  }

  /// Empties the pool. Called from time to time, because a burst may have left more buffers than
  /// needed.
  func releaseBuffers() {
    buffers = []
    kept = 0
  }
}
