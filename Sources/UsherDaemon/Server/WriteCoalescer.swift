/// Where the connections of a loop put their replies together, and when these go out.
///
/// Replies to calls that were ready in the same turn go out together, at its end: else a client that
/// has other calls under way is woken for each of them. On the event loop only.
final class WriteCoalescer {
  /// Bytes of a connection's replies that are not put off: its client is woken for enough.
  private static let enough = 16_384
  /// Bytes of all rooms that are kept.
  private static let mostKept = 1 << 20

  private var rooms: [[UInt8]] = []
  /// Bytes of them.
  private var kept = 0
  private var unsent: [ConnectionHandler] = []

  /// Has what a connection has written go out, at the latest at the turn's end.
  func send(of connection: ConnectionHandler) {
    guard connection.replies.count <= Self.enough else { return connection.flush() }
    guard !connection.isPutOff else { return }
    connection.isPutOff = true
    unsent.append(connection)
  }

  /// The turn ends.
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

  /// Room for replies, empty.
  func takeRoom() -> [UInt8] {
    if let room = rooms.popLast() {
      kept -= room.capacity
      return room
    }
    var room: [UInt8] = []
    room.reserveCapacity(4096)
    return room
  }

  /// - Parameter used: Empty, and wiped.
  func giveRoom(_ used: [UInt8]) {
    guard kept + used.capacity <= Self.mostKept else { return }
    kept += used.capacity
    rooms.append(used)
  }

  /// From time to time: more may have been needed than are.
  func giveUpRooms() {
    rooms = []
    kept = 0
  }
}
