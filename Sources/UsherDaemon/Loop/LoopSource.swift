import UsherCore
import UsherSystem

/// A socket that a loop watches. It is closed here, on the loop, and nowhere else.
class LoopSource {
  let loop: SocketLoop
  /// Nil once it is closed.
  private(set) var socket: DirectSocket?
  /// It is watched under, from ``begin(_:)`` on.
  private var key: UInt64?
  private var interest: Readiness = []

  init(_ socket: DirectSocket, on loop: SocketLoop) {
    self.socket = socket
    self.loop = loop
  }

  final var isOpen: Bool { socket != nil }

  /// Is told what the socket is ready for: of this that it wants to know, and of its end.
  func ready(_ events: Readiness) {}

  /// Closes it at once; closing it twice is closing it once.
  func close() {
    guard let open = socket else { return }
    socket = nil
    if let key { loop.unwatch(open, key: key) }
    open.close()
  }

  /// - Throws: `internalError` where it cannot be watched; it is open yet.
  final func begin(_ interest: Readiness) throws(UsherError) {
    guard let socket, key == nil else { return }
    self.interest = interest
    key = try loop.watch(self, socket, for: interest)
  }

  /// From now on it is told of these.
  final func want(_ interest: Readiness) {
    guard let socket, let key, interest != self.interest else { return }
    self.interest = interest
    loop.watch(socket, key: key, for: interest)
  }
}

/// The sockets of a loop. A key is not used twice: what the kernel says of one that is closed by then
/// is said of nobody.
struct SourceTable {
  private var slots: [LoopSource?] = []
  /// How often each has been used.
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

  /// Of one that is in it.
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
