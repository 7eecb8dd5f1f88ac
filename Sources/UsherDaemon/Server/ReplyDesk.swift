import NIOCore

/// Where the connections of a loop put their replies together, and when these go out.
///
/// Replies to calls that were ready at the same time go out together, once all have been read: else
/// a client that has other calls under way is woken for each of them. A lone client's do at once.
/// On the event loop only.
final class ReplyDesk {
  /// Bytes of a connection's replies that are not put off: its client is woken for enough.
  private static let enough = 16_384
  /// Bytes of all rooms that are kept.
  private static let mostKept = 1 << 20
  /// How many sends in a row are alone until they are not put off any more, and how many are not
  /// before one is again: so that it is seen whether there are others now.
  private static let loneliness = 8
  private static let confidence = 64

  private let loop: any EventLoop
  private var rooms: [[UInt8]] = []
  /// Bytes of them.
  private var kept = 0
  private var unsent: [ConnectionHandler] = []
  private var alone = 0
  private var atOnce = 0

  init(on loop: any EventLoop) { self.loop = loop }

  /// Has what a connection has written go out: at the latest when all is read that is ready now.
  ///
  /// Never at once where it has been put off: what comes next may be the end of what the other side
  /// says, and a channel must not be closed by a failed write while it is told of that.
  func send(of connection: ConnectionHandler) {
    guard !connection.isPutOff else { return }
    if connection.replies.count > Self.enough { return connection.flush() }
    if alone >= Self.loneliness {
      atOnce += 1
      guard atOnce >= Self.confidence else { return connection.flush() }
      atOnce = 0
    }
    connection.isPutOff = true
    unsent.append(connection)
    guard unsent.count == 1 else { return }
    loop.assumeIsolated().execute { [self] in sendAll() }
  }

  private func sendAll() {
    let connections = unsent
    unsent.removeAll(keepingCapacity: true)
    alone = connections.count == 1 ? alone + 1 : 0
    for connection in connections {
      connection.isPutOff = false
      connection.flush()
    }
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
