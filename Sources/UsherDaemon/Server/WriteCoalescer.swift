/// Pool of output buffers for a loop's connections, and the list of connections with unsent
/// replies.
///
/// Replies to calls that were ready in the same loop iteration are sent together at its end.
/// Otherwise a client with several calls in progress would be woken for each reply. On the event
/// loop only.
final class WriteCoalescer {
  /// Bytes of a connection's replies from which they are sent without delay.
  private static let enough = 16_384
  /// Maximum total capacity, in bytes, of the pooled buffers.
  private static let mostKept = 1 << 20

  private var buffers: [[UInt8]] = []
  /// Total capacity of `buffers` in bytes.
  private var kept = 0
  private var unsent: [ConnectionHandler] = []

  /// Sends a connection's written replies at the end of the loop iteration, or at once if there are
  /// many.
  func send(of connection: ConnectionHandler) {
    guard connection.replies.count <= Self.enough else { return connection.flush() }
    guard !connection.isPutOff else { return }
    connection.isPutOff = true
    unsent.append(connection)
  }

  /// Sends all delayed replies at the end of a loop iteration.
  func sendAll() {
    guard !unsent.isEmpty else { return }
    var connections: [ConnectionHandler] = []
    swap(&connections, &unsent)
    for connection in connections {
      connection.isPutOff = false
      connection.flush()
    }
    guard unsent.isEmpty else { return }
    connections.removeAll(keepingCapacity: true)
    unsent = connections
  }

  /// Returns an empty output buffer.
  func takeBuffer() -> [UInt8] {
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
  func returnBuffer(_ used: [UInt8]) {
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
