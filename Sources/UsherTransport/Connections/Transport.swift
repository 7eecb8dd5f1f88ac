package import UsherCore
package import UsherSystem

/// Receiver of a ``Transport``'s events. The methods are called on the event loop, synchronously,
/// and may call the transport.
package protocol TransportUser: AnyObject {
  /// Handles received bytes, which are valid only during the call.
  func received(_ bytes: UnsafeRawBufferPointer)

  /// Handles the end of the peer's input. The peer may still read what is sent to it.
  func inputEnded()

  /// Handles a change of ``Transport/hasRoom``.
  func roomChanged()

  /// Handles the end of the connection, once, whichever side closed it.
  func closed()
}

/// Byte stream over a connected Unix socket. It sends at once what the kernel accepts, and the rest
/// when the socket is writable. Used on its event loop only.
@usableFromInline
package final class Transport: LoopSource {
  private var user: (any TransportUser)?
  /// Bytes to send that the kernel has not accepted yet.
  private var queue = ByteQueue()
  private let maxUnsent: Int
  /// Whether the peer reads its replies fast enough. False once more than `maxUnsent` bytes are
  /// unsent, until fewer than half of that are.
  @inlinable package var hasRoom: Bool { storedHasRoom }
  /// The value of ``hasRoom``. The connection reads it for each line of input, from another module,
  /// where the compiler would add an exclusivity check at run time. No access contains a call, so
  /// accesses never overlap.
  @exclusivity(unchecked) @usableFromInline var storedHasRoom = true
  private var hasReachedEnd = false
  private var closesWhenSent = false

  /// Whether the transport reads from the socket. While it does not, the kernel buffers incoming
  /// bytes and then blocks the sender. The end of the peer is noticed nevertheless.
  @exclusivity(unchecked) package var reads = true { didSet { if reads != oldValue { adjust() } } }

  /// - Parameters:
  ///   - socket: A connected socket; the transport closes it.
  ///   - maxUnsent: The number of unsent bytes above which ``hasRoom`` is false.
  package init(_ socket: DirectSocket, on loop: SocketLoop, maxUnsent: Int) {
    self.maxUnsent = maxUnsent
    super.init(socket, on: loop)
  }

  /// The number of bytes that the kernel has not accepted yet.
  package var unsent: Int { queue.count }

  /// Starts watching the socket.
  ///
  /// - Throws: `internalError` if the kernel cannot watch the socket. The socket is then closed,
  ///   and `user` is told by ``TransportUser/closed()``.
  package func begin(for user: any TransportUser) throws(UsherError) {
    self.user = user
    do throws(UsherError) {
      try begin(interest)
    } catch {
      close()
      throw error
    }
  }

  /// Sends bytes after all earlier ones; closes the transport if the peer is gone. Ignored after
  /// ``closeWhenSent()``.
  package func send(_ bytes: [UInt8]) {
    loop.assertOnLoop()
    guard let socket, !closesWhenSent else { return }
    var sent = 0
    if queue.isEmpty {
      guard let count = bytes.withUnsafeBytes({ socket.send($0) }) else { return close() }
      sent = count
    }
    guard sent < bytes.count else { return }
    bytes.withUnsafeBytes { queue.append(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
    adjust()
    if hasRoom, queue.count > maxUnsent {
      storedHasRoom = false
      user?.roomChanged()
    }
  }

  /// Closes the transport when all earlier bytes are sent. Bytes that are passed to ``send(_:)``
  /// afterwards are dropped.
  package func closeWhenSent() {
    closesWhenSent = true
    // Without this, the transport would continue to read input that is ignored.
    if queue.isEmpty { close() } else { reads = false }
  }

  /// Makes the kernel refuse new bytes from the peer. Bytes that the peer has already sent are
  /// still received.
  ///
  /// - Returns: Whether the call succeeded.
  package func stopReceiving() -> Bool { socket?.stopReceiving() ?? false }

  /// Closes the transport at once; unsent bytes are lost.
  package override func close() {
    guard isOpen else { return }
    loop.assertOnLoop()
    super.close()
    queue.removeAll()
    let user = user
    self.user = nil
    user?.closed()
  }

  override func ready(_ events: Readiness) {
    if !events.isDisjoint(with: .disconnected) { return drainInput() }
    if events.contains(.writable) { sendQueued() }
    if events.contains(.readable), reads, !hasReachedEnd { _ = receive() }
  }

  private var interest: Readiness {
    var interest: Readiness = reads && !hasReachedEnd ? .readable : []
    if !queue.isEmpty { interest.insert(.writable) }
    return interest
  }

  private func adjust() { setInterest(interest) }

  /// Reads once from the socket and passes the bytes to ``user``, the object that handles them.
  ///
  /// - Returns: Whether bytes were read, so that more may follow.
  private func receive() -> Bool {
    guard let socket, let user else { return false }
    switch loop.receive(from: socket, { user.received($0) }) {
    case .bytes: return true
    case .wouldBlock: return false
    case .failed: close()
    case .end:
      hasReachedEnd = true
      adjust()
      user.inputEnded()
    }
    return false
  }

  /// Reads the remaining input of a peer that is gone, then closes. The calls in that input still
  /// run, until sending the first reply fails.
  private func drainInput() {
    while !hasReachedEnd, receive() {}
    close()
  }

  private func sendQueued() {
    guard let socket, !queue.isEmpty else { return }
    guard let count = queue.withUnsafeBytes({ socket.send($0) }) else { return close() }
    queue.removeFirst(count)
    if queue.isEmpty, closesWhenSent { return close() }
    adjust()
    if !hasRoom, queue.count < maxUnsent / 2 {
      storedHasRoom = true
      user?.roomChanged()
    }
  }
}
