import CSystemd
import Glibc
package import UsherCore

// All that an event loop of Unix sockets asks of the kernel. Nothing here waits but ``Poller/wait``.

/// A Unix socket by its number, listening or connected, that does not block. A value: whoever holds
/// it sees to it that it is used no more once it is closed, and closed once.
package struct DirectSocket: Sendable {
  package let raw: CInt

  package init(_ raw: CInt) { self.raw = raw }

  package enum Accepted: Sendable {
    /// It is the caller's to close.
    case connection(DirectSocket)
    /// None waits, or one who waited has gone.
    case nobody
    /// So many were closed at once, and more may wait.
    case closed(Int)
    /// Somebody waits and cannot be let in: there are no descriptors left, or no memory. In the
    /// kernel's words.
    case impossible(String)
  }

  package enum Received {
    case bytes(Int)
    /// The other side has said all it will.
    case end
    /// There is none just now.
    case nothing
    /// The connection is broken.
    case failed
  }

  /// Makes a descriptor that was handed over listen without blocking.
  ///
  /// - Parameter waiting: How many may wait to be accepted.
  package func listen(waiting: Int) throws(UsherError) {
    let flags = fcntl(raw, F_GETFL)
    guard flags >= 0, fcntl(raw, F_SETFL, flags | O_NONBLOCK) == 0,
      Glibc.listen(raw, CInt(waiting)) == 0
    else { throw Errno.last.explained("a socket does not listen") }
  }

  package func accept() -> Accepted {
    let result = usher_accept(raw)
    switch -result {
    case ...0: return .connection(DirectSocket(result))
    case EAGAIN, EINTR, ECONNABORTED: return .nobody
    default: return .impossible(Errno(-result).words)
    }
  }

  /// Accepts one who has none of these uids, and closes those who have: as fast as that can be done,
  /// for whoever connects again and again fills the queue of all.
  ///
  /// - Returns: Also how many were closed.
  package func accept(
    closing uids: [UInt32], by closer: SocketCloser
  ) -> (accepted: Accepted, closed: Int) {
    withUnsafeTemporaryAllocation(of: CInt.self, capacity: 32) { theirs in
      var count: CInt = 0
      let result = usher_accept_others(
        raw, uids, uids.count, theirs.baseAddress, CInt(theirs.count), &count)
      closer.close(theirs.prefix(Int(count)))
      let accepted: Accepted =
        switch -result {
        case ...0: .connection(DirectSocket(result))
        case EBUSY: .closed(Int(count))
        case EAGAIN, EINTR, ECONNABORTED: .nobody
        default: .impossible(Errno(-result).words)
        }
      return (accepted, Int(count))
    }
  }

  /// Whether a connect waits to be accepted, on a listening socket. Never waits.
  package var hasWaiting: Bool {
    var request = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, 0) > 0
  }

  package func receive(into room: UnsafeMutableRawBufferPointer) -> Received {
    while true {
      let count = recv(raw, room.baseAddress, room.count, 0)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      switch errno {
      case EINTR: continue
      case EAGAIN: return .nothing
      default: return .failed
      }
    }
  }

  /// - Returns: How many bytes the kernel took; nil where the other side is gone.
  package func send(_ bytes: UnsafeRawBufferPointer) -> Int? {
    while true {
      let count = Glibc.send(
        raw, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
      if count >= 0 { return count }
      switch errno {
      case EINTR: continue
      case EAGAIN: return 0
      default: return nil
      }
    }
  }

  /// From now on what the other side sends is refused; what it has sent can be read.
  ///
  /// - Returns: Whether the kernel has done it.
  package func hearNoMore() -> Bool { shutdown(raw, CInt(SHUT_RD)) == 0 }

  package func close() { _ = Glibc.close(raw) }
}

/// What a descriptor is ready for, or is to be watched for.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let readable = Readiness(rawValue: UInt32(USHER_READABLE))
  package static let writable = Readiness(rawValue: UInt32(USHER_WRITABLE))
  /// Nobody is at the other end any more. It is told of, whatever is watched.
  package static let gone = Readiness(rawValue: UInt32(USHER_BROKEN) | UInt32(USHER_HUNG_UP))
}

/// Which descriptors are ready, by the keys they were watched under.
package struct ReadyList {
  fileprivate static let most = Int(USHER_MOST_READY)
  fileprivate var keys = [UInt64](repeating: 0, count: ReadyList.most)
  fileprivate var events = [UInt32](repeating: 0, count: ReadyList.most)
  package fileprivate(set) var count = 0

  package init() {}

  package subscript(index: Int) -> (key: UInt64, events: Readiness) {
    (keys[index], Readiness(rawValue: events[index]))
  }
}

/// Watches descriptors (epoll, level triggered), and can be woken.
package final class Poller: Sendable {
  /// Of what wakes it.
  package static let bell = UInt64.max

  private let epoll: Descriptor
  private let ringing: Descriptor

  /// - Throws: `internalError` where the process has no descriptors left.
  package init() throws(UsherError) {
    do throws(Errno) {
      epoll = try Self.descriptor(usher_epoll_create())
      ringing = try Self.descriptor(usher_eventfd())
      try Self.check(
        usher_epoll_add(epoll.raw, ringing.raw, Self.bell, Readiness.readable.rawValue))
    } catch {
      throw error.explained("descriptors cannot be watched")
    }
  }

  private static func descriptor(_ result: CInt) throws(Errno) -> Descriptor {
    try check(result)
    return Descriptor(result)
  }

  private static func check(_ result: CInt) throws(Errno) {
    guard result >= 0 else { throw Errno(-result) }
  }

  /// Waits until something is ready, for at most so many nanoseconds; without end where they are
  /// negative. What interrupts it ends it early.
  package func wait(_ ready: inout ReadyList, nanoseconds: Int64) {
    let count = usher_epoll_wait(
      epoll.raw, &ready.keys, &ready.events, CInt(ReadyList.most), nanoseconds)
    precondition(count >= 0 || count == -EINTR, "epoll is gone")
    ready.count = max(0, Int(count))
  }

  /// From any thread: a wait ends with the ``bell``, now or as soon as it begins, until it is
  /// silenced.
  package func ring() {
    var one: UInt64 = 1
    _ = write(ringing.raw, &one, MemoryLayout.size(ofValue: one))
  }

  package func silence() {
    var count: UInt64 = 0
    _ = read(ringing.raw, &count, MemoryLayout.size(ofValue: count))
  }

  /// - Throws: `internalError` where the kernel has no memory, or the user watches too many.
  package func add(
    _ socket: DirectSocket, key: UInt64, _ interest: Readiness
  ) throws(UsherError) {
    let result = usher_epoll_add(epoll.raw, socket.raw, key, interest.rawValue)
    guard result == 0 else { throw Errno(-result).explained("a socket cannot be watched") }
  }

  /// Of a socket that is watched.
  package func change(_ socket: DirectSocket, key: UInt64, _ interest: Readiness) {
    let result = usher_epoll_change(epoll.raw, socket.raw, key, interest.rawValue)
    precondition(result == 0, "what is not watched was changed")
  }

  /// Before it is closed: another process that has the descriptor, too, would keep it watched.
  package func remove(_ socket: DirectSocket) { _ = usher_epoll_remove(epoll.raw, socket.raw) }
}

/// The thread of an event loop.
package enum LoopThread {
  /// Runs `body` on a thread of its own that ends with it.
  ///
  /// - Parameter name: At most 15 bytes.
  /// - Throws: `internalError` where the system has no thread left; `body` is not called then.
  package static func start(
    _ name: String, _ body: @escaping @Sendable () -> Void
  ) throws(UsherError) {
    do throws(Errno) {
      try OwnThread.start(name, stackSize: 8 << 20) {
        // A turn that comes 50 µs late is as long as a turn.
        _ = usher_wait_exactly()
        body()
      }
    } catch {
      throw error.explained("there is no thread for an event loop")
    }
  }

  /// Of the calling thread; no other that runs has it.
  package static var current: UInt { UInt(pthread_self()) }
}
