package import UsherCore
package import UsherSystem

/// Socket that an event loop watches. Only this class closes the socket, on the loop.
@usableFromInline
package class LoopSource {
  package let loop: SocketLoop
  /// The socket; nil once it is closed.
  private(set) var socket: DirectSocket?
  /// The socket's key in the event loop's ``SourceTable``; nil before ``begin(_:)``.
  private var key: UInt64?
  private var interest: Readiness = []

  init(_ socket: DirectSocket, on loop: SocketLoop) {
    self.socket = socket
    self.loop = loop
  }

  package final var isOpen: Bool { socket != nil }

  /// Handles events of the socket: those that it is watched for, and its end. Subclasses override
  /// it.
  func ready(_ events: Readiness) {}

  /// Closes the socket at once; does nothing if it is already closed.
  package func close() {
    guard let open = socket else { return }
    socket = nil
    if let key { loop.unwatch(open, key: key) }
    open.close()
  }

  /// Starts watching the socket for the given events.
  ///
  /// - Throws: `internalError` if the socket cannot be watched; it stays open.
  package final func begin(_ interest: Readiness) throws(UsherError) {
    guard let socket, key == nil else { return }
    self.interest = interest
    key = try loop.watch(self, socket, for: interest)
  }

  /// Changes the events that the socket is watched for.
  final func setInterest(_ interest: Readiness) {
    guard let socket, let key, interest != self.interest else { return }
    self.interest = interest
    loop.watch(socket, key: key, for: interest)
  }
}

/// The sockets of an event loop by key. Keys are not reused, so an event for a socket that was
/// closed in the meantime does not reach another socket.
struct SourceTable {
  private var slots: [LoopSource?] = []
  /// The number of times each slot has been reused; the upper half of a key.
  private var uses: [UInt32] = []
  private var free: [Int] = []

  var isEmpty: Bool { free.count == slots.count }

  var all: [LoopSource] { slots.compactMap { $0 } }

  mutating func add(_ source: LoopSource) -> UInt64 {
    guard let slot = free.popLast() else {
      slots.append(source)
      uses.append(0)
      return key(slots.endIndex - 1)
    }
    slots[slot] = source
    return key(slot)
  }

  /// Removes the socket with this key; does nothing if the key is unknown.
  mutating func remove(_ key: UInt64) {
    let slot = Int(truncatingIfNeeded: key & UInt64(UInt32.max))
    guard self[key] != nil else { return }
    slots[slot] = nil
    uses[slot] &+= 1
    free.append(slot)
  }

  subscript(key: UInt64) -> LoopSource? {
    let slot = Int(truncatingIfNeeded: key & UInt64(UInt32.max))
    guard slot < slots.count, uses[slot] == UInt32(key >> 32) else { return nil }
    return slots[slot]
  }

  private func key(_ slot: Int) -> UInt64 { UInt64(uses[slot]) << 32 | UInt64(slot) }
}
