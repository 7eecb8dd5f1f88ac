/// The output buffers of an event loop's connections, and the list of connections whose replies are
/// sent at the end of the loop iteration.
///
/// Replies to calls that were ready in the same iteration are sent together, with one system call
/// per connection. Otherwise a client with several calls in progress would be woken for each reply.
/// Used on the event loop only.
@usableFromInline
package final class WriteCoalescer {
  /// Number of bytes of a connection's replies above which they are sent at once, not at the end of
  /// the iteration.
  @inlinable package static var immediateSendBytes: Int { 16_384 }
  /// Maximum total capacity, in bytes, of the buffers kept for reuse.
  private static let maxPooledBytes = 1 << 20

  private var buffers: [[UInt8]] = []
  /// The total capacity of the pooled ``buffers``, in bytes.
  private var pooledBytes = 0
  private var unsent: [any ScheduledConnection] = []

  /// Makes a connection send its written replies at the end of the loop iteration. Must not be
  /// called twice for a connection in one iteration.
  package func delay(_ connection: any ScheduledConnection) { unsent.append(connection) }

  /// Makes all connections of ``delay(_:)`` send their replies. Called at the end of each loop
  /// iteration.
  func sendAll() {
    guard !unsent.isEmpty else { return }
    var connections: [any ScheduledConnection] = []
    swap(&connections, &unsent)
    for connection in connections { connection.sendDelayed() }
    guard unsent.isEmpty else { return }
    connections.removeAll(keepingCapacity: true)
    unsent = connections
  }

  /// Returns an empty output buffer, from the pool if possible.
  package func takeBuffer() -> [UInt8] {
    if let buffer = buffers.popLast() {
      pooledBytes -= buffer.capacity
      return buffer
    }
    var buffer: [UInt8] = []
    buffer.reserveCapacity(4096)
    return buffer
  }

  /// Returns an output buffer to the pool.
  ///
  /// - Parameter used: An empty buffer whose bytes have been wiped.
  package func returnBuffer(_ used: [UInt8]) {
    guard pooledBytes + used.capacity <= Self.maxPooledBytes else { return }
    pooledBytes += used.capacity
    buffers.append(used)
  }

  /// Empties the pool of buffers. Called about once a minute while connections cache values,
  /// because a burst may have left more buffers than needed.
  func releaseBuffers() {
    buffers = []
    pooledBytes = 0
  }
}
