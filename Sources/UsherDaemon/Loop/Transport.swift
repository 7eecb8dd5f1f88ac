import UsherCore
import UsherSystem

/// Whose bytes a ``Transport`` carries. It is told on the loop, from where it is told, whatever it
/// does there.
class TransportUser {
  /// These came. They are gone when it returns.
  func received(_ bytes: UnsafeRawBufferPointer) {}

  /// The other side has said all it will, and may listen yet.
  func heardAll() {}

  /// ``Transport/hasRoom`` is another.
  func roomChanged() {}

  /// Once, at the end; whoever ended it.
  func closed() {}
}

/// A connection as bytes in and bytes out: reads while it may, sends at once what the kernel takes and
/// the rest by and by. On the loop only.
final class Transport: LoopSource {
  private var user: TransportUser?
  /// What the kernel has not taken.
  private var queue = ByteQueue()
  private let mostUnsent: Int
  /// Whether the other side reads what it is sent: false from more than the most unsent bytes on,
  /// until there are less than half of that.
  private(set) var hasRoom = true
  private var hasHeardAll = false
  private var closesWhenSent = false

  /// Whether it is to read; until it does, the kernel keeps what comes, and then lets nobody send.
  /// That nobody is at the other end any more it finds out all the same.
  var reads = true { didSet { if reads != oldValue { adjust() } } }

  /// - Parameters:
  ///   - socket: Connected; the transport closes it.
  ///   - mostUnsent: Bytes.
  init(_ socket: DirectSocket, on loop: SocketLoop, mostUnsent: Int) {
    self.mostUnsent = mostUnsent
    super.init(socket, on: loop)
  }

  /// Bytes that the kernel has not taken yet.
  var unsent: Int { queue.count }

  /// - Throws: `internalError` where the kernel cannot watch it; it is closed then, and `user` is told.
  func begin(for user: TransportUser) throws(UsherError) {
    self.user = user
    do throws(UsherError) {
      try begin(wanted)
    } catch {
      close()
      throw error
    }
  }

  /// Sends them behind all else. Where the other side is gone it closes.
  func send(_ bytes: [UInt8]) {
    loop.assertOnLoop()
    guard let socket, !closesWhenSent else { return }
    var sent = 0
    if queue.isEmpty {
      guard let taken = bytes.withUnsafeBytes({ socket.send($0) }) else { return close() }
      sent = taken
    }
    guard sent < bytes.count else { return }
    bytes.withUnsafeBytes { queue.append(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
    adjust()
    if hasRoom, queue.count > mostUnsent {
      hasRoom = false
      user?.roomChanged()
    }
  }

  /// Closes it when all has gone out; nothing more is sent.
  func closeWhenSent() {
    closesWhenSent = true
    // Else it would go on reading what nobody looks at.
    if queue.isEmpty { close() } else { reads = false }
  }

  /// What the other side sends from now on is refused; what it has sent is read, to its end.
  ///
  /// - Returns: Whether it is so.
  func hearNoMore() -> Bool { socket?.hearNoMore() ?? false }

  /// At once, whatever has not gone out.
  override func close() {
    guard isOpen else { return }
    loop.assertOnLoop()
    super.close()
    queue.removeAll()
    let user = user
    self.user = nil
    user?.closed()
  }

  override func ready(_ events: Readiness) {
    if !events.isDisjoint(with: .gone) { return hearOut() }
    if events.contains(.writable) { sendOn() }
    if events.contains(.readable), reads, !hasHeardAll { _ = hear() }
  }

  private var wanted: Readiness {
    var wanted: Readiness = reads && !hasHeardAll ? .readable : []
    if !queue.isEmpty { wanted.insert(.writable) }
    return wanted
  }

  private func adjust() { want(wanted) }

  /// - Returns: Whether something came, and more may.
  private func hear() -> Bool {
    guard let socket, let user else { return false }
    switch loop.receive(from: socket, { user.received($0) }) {
    case .bytes: return true
    case .nothing: return false
    case .failed: close()
    case .end:
      hasHeardAll = true
      adjust()
      user.heardAll()
    }
    return false
  }

  /// Nobody is there to be answered: but what was asked for is done, until the first reply fails.
  private func hearOut() {
    while !hasHeardAll, hear() {}
    close()
  }

  private func sendOn() {
    guard let socket, !queue.isEmpty else { return }
    guard let taken = queue.withUnsafeBytes({ socket.send($0) }) else { return close() }
    queue.removeFirst(taken)
    if queue.isEmpty, closesWhenSent { return close() }
    adjust()
    if !hasRoom, queue.count < mostUnsent / 2 {
      hasRoom = true
      user?.roomChanged()
    }
  }
}
