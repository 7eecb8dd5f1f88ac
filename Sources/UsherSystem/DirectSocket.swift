import CSystemd
import Glibc
package import UsherCore

// The system calls for an event loop over Unix sockets. ``Poller/wait(_:nanoseconds:)`` is the only
// one that blocks.

/// A non-blocking Unix socket, listening or connected, as a plain descriptor number.
///
/// It is a value without ownership: the holder must close it exactly once and not use it
/// afterwards.
package struct DirectSocket: Sendable {
  package let raw: CInt

  package init(_ raw: CInt) { self.raw = raw }

  package enum Accepted: Sendable {
    /// An accepted connection. The caller must close it.
    case connection(DirectSocket)
    /// No connection is in the backlog, or the peer has already closed the one that was.
    case none
    /// This many connections were closed, and the backlog may contain more.
    case closed(Int)
    /// A connection is in the backlog but cannot be accepted, because descriptors or memory are
    /// exhausted. Carries the text of the errno value.
    case impossible(String)

    /// - Parameters:
    ///   - result: The accepted descriptor, or a negative errno value.
    ///   - closed: The number of connections that were closed before.
    fileprivate init(_ result: CInt, closed: CInt = 0) {
      self =
        switch -result {
        case ...0: .connection(DirectSocket(result))
        case EBUSY: .closed(Int(closed))
        case EAGAIN, EINTR, ECONNABORTED: .none
        default: .impossible(Errno(-result).words)
        }
    }
  }

  package enum Received {
    case bytes(Int)
    /// The peer has shut down its sending side; all bytes that it sent were received.
    case end
    /// No bytes are available now.
    case wouldBlock
    /// The connection is broken: recv(2) failed.
    case failed
  }

  /// Makes a socket that was passed to the process, for example by systemd, listen without
  /// blocking.
  ///
  /// - Parameter waiting: The length of the backlog.
  package func listen(waiting: Int) throws(UsherError) {
    let flags = fcntl(raw, F_GETFL)
    guard flags >= 0, fcntl(raw, F_SETFL, flags | O_NONBLOCK) == 0,
      Glibc.listen(raw, CInt(waiting)) == 0
    else { throw Errno.last.explained("a socket cannot be made to listen") }
  }

  package func accept() -> Accepted { Accepted(usher_accept(raw)) }

  /// Accepts the first connection in the backlog whose user is not in `uids`, and closes the
  /// connections before it.
  ///
  /// The connections are closed on another thread, because a user who connects repeatedly fills the
  /// backlog for all users.
  ///
  /// - Parameters:
  ///   - uids: The users who may not connect now.
  ///   - closer: Closes the refused connections.
  ///   - descriptors: The budget of the process. A refused connection that may not keep its
  ///     descriptor is closed on the calling thread: otherwise connections that wait to be closed
  ///     would take the last descriptors of the process.
  /// - Returns: The accepted connection, and the number of closed ones.
  package func accept(
    closing uids: [UInt32], by closer: SocketCloser, within descriptors: DescriptorBudget
  ) -> (accepted: Accepted, closed: Int) {
    withUnsafeTemporaryAllocation(of: CInt.self, capacity: 32) { theirs in
      var count: CInt = 0
      let result = usher_accept_others(
        raw, uids, uids.count, theirs.baseAddress, CInt(theirs.count),
        CInt(clamping: descriptors.end(of: .caller)), &count)
      var refused = theirs.prefix(Int(count))
      if let last = refused.last, !descriptors.allows(last, for: .caller) {
        Glibc.close(last)
        refused.removeLast()
      }
      closer.close(refused)
      return (Accepted(result, closed: count), Int(count))
    }
  }

  /// Whether the backlog of a listening socket contains a connection. Never blocks.
  package var hasWaiting: Bool {
    var request = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, 0) > 0
  }

  package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
    while true {
      let count = recv(raw, buffer.baseAddress, buffer.count, 0)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      switch errno {
      case EINTR: continue
      case EAGAIN: return .wouldBlock
      default: return .failed
      }
    }
  }

  /// Sends as much as the kernel accepts without blocking.
  ///
  /// - Returns: The number of bytes that the kernel accepted, 0 if the send buffer is full, or nil
  ///   if the peer is gone.
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

  /// Refuses everything that the peer sends from now on. Bytes that the peer has already sent can
  /// still be received.
  ///
  /// - Returns: Whether the call succeeded.
  package func stopReceiving() -> Bool { shutdown(raw, CInt(SHUT_RD)) == 0 }

  package func close() { _ = Glibc.close(raw) }
}

/// The events that a descriptor is ready for, or that a ``Poller`` watches it for.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let readable = Readiness(rawValue: UInt32(USHER_READABLE))
  package static let writable = Readiness(rawValue: UInt32(USHER_WRITABLE))
  /// The peer is gone or the descriptor is broken. epoll reports this event even if it is not
  /// watched for.
  package static let disconnected = Readiness(
    rawValue: UInt32(USHER_BROKEN) | UInt32(USHER_HUNG_UP))
}

/// The result of one ``Poller/wait(_:nanoseconds:)``: the ready descriptors, by the keys under
/// which they are watched.
package struct ReadyList {
  fileprivate static let maxEvents = Int(USHER_MOST_READY)
  fileprivate var keys = [UInt64](repeating: 0, count: ReadyList.maxEvents)
  fileprivate var events = [UInt32](repeating: 0, count: ReadyList.maxEvents)
  package fileprivate(set) var count = 0

  package init() {}

  package subscript(index: Int) -> (key: UInt64, events: Readiness) {
    (keys[index], Readiness(rawValue: events[index]))
  }
}

/// Watches descriptors with level-triggered epoll. Another thread can end a wait with ``wakeUp()``.
package final class Poller: Sendable {
  /// The key under which a ``ReadyList`` reports that ``wakeUp()`` was called.
  package static let wakeUpKey = UInt64.max

  private let epoll: Descriptor
  private let wakeUpEvent: Descriptor

  /// Creates the epoll instance and the eventfd that ``wakeUp()`` writes to.
  ///
  /// - Throws: `internalError` if the process has no descriptors left.
  package init() throws(UsherError) {
    do throws(Errno) {
      epoll = try Descriptor(result: usher_epoll_create())
      wakeUpEvent = try Descriptor(result: usher_eventfd())
      let result = usher_epoll_add(
        epoll.raw, wakeUpEvent.raw, Self.wakeUpKey, Readiness.readable.rawValue)
      guard result >= 0 else { throw Errno(-result) }
    } catch {
      throw error.explained("cannot watch descriptors for events")
    }
  }

  /// Waits until a descriptor is ready, for at most the given time; a negative time means no limit.
  /// A signal may end the wait early.
  package func wait(_ ready: inout ReadyList, nanoseconds: Int64) {
    let count = usher_epoll_wait(
      epoll.raw, &ready.keys, &ready.events, CInt(ReadyList.maxEvents), nanoseconds)
    precondition(count >= 0 || count == -EINTR, "the epoll descriptor is invalid")
    ready.count = max(0, Int(count))
  }

  /// Ends the current or next wait, from any thread. Every wait reports the key ``wakeUpKey`` until
  /// ``clearWakeUp()`` is called.
  package func wakeUp() {
    var one: UInt64 = 1
    _ = write(wakeUpEvent.raw, &one, MemoryLayout.size(ofValue: one))
  }

  package func clearWakeUp() {
    var count: UInt64 = 0
    _ = read(wakeUpEvent.raw, &count, MemoryLayout.size(ofValue: count))
  }

  /// Starts to watch a socket.
  ///
  /// - Throws: `internalError` if the kernel has no memory or the daemon's user watches too many
  ///   descriptors (`fs.epoll.max_user_watches`).
  package func add(
    _ socket: DirectSocket, key: UInt64, _ interest: Readiness
  ) throws(UsherError) {
    let result = usher_epoll_add(epoll.raw, socket.raw, key, interest.rawValue)
    guard result == 0 else { throw Errno(-result).explained("cannot watch a socket for events") }
  }

  /// Changes the events that a watched socket is watched for.
  package func change(_ socket: DirectSocket, key: UInt64, _ interest: Readiness) {
    let result = usher_epoll_change(epoll.raw, socket.raw, key, interest.rawValue)
    precondition(result == 0, "a socket that is not watched was changed")
  }

  /// Stops watching a socket. Must be called before the socket is closed: if another process has a
  /// copy of the descriptor, epoll would continue to watch the socket.
  package func remove(_ socket: DirectSocket) { _ = usher_epoll_remove(epoll.raw, socket.raw) }
}

/// The thread of an event loop.
package enum LoopThread {
  /// Runs `body` on a new thread, which ends when `body` returns.
  ///
  /// - Parameter name: The name of the thread, at most 15 bytes.
  /// - Throws: `internalError` if the system cannot create a thread. `body` is not called then.
  package static func start(
    _ name: String, _ body: @escaping @Sendable () -> Void
  ) throws(UsherError) {
    do throws(Errno) {
      try OwnThread.start(name, stackSize: 8 << 20) {
        // Waits with a timeout may end late by the timer slack. The default of 50 µs would double
        // the duration of one iteration of the loop.
        _ = usher_wait_exactly()
        body()
      }
    } catch {
      throw error.explained("no thread can be created for an event loop")
    }
  }

  /// An identifier of the calling thread, unique among the running threads. The event loop compares
  /// it to tell whether a call comes from its own thread.
  package static var current: UInt { UInt(pthread_self()) }
}
