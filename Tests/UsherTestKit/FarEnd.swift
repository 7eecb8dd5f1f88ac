import Glibc
package import UsherSystem

/// The far end of a connection. It never blocks.
package final class FarEnd: Sendable {
  private let socket: DirectSocket

  private init(_ socket: DirectSocket) { self.socket = socket }

  deinit { socket.close() }

  /// - Returns: Two connected ends. The caller must close the near one.
  package static func pair() throws -> (near: DirectSocket, far: FarEnd) {
    var ends: [CInt] = [-1, -1]
    let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    guard socketpair(AF_UNIX, CInt(kind), 0, &ends) == 0 else { throw TestError("no pair") }
    return (DirectSocket(ends[0]), FarEnd(DirectSocket(ends[1])))
  }

  /// Connects to the file of a listening socket.
  package static func connected(to path: String) throws -> FarEnd {
    let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    let end = FarEnd(DirectSocket(Glibc.socket(AF_UNIX, CInt(kind), 0)))
    let result = TestSocket.Address.unix(path: path).withRaw { connect(end.socket.raw, $0, $1) }
    guard result == 0 else { throw TestError("cannot connect: \(errno)") }
    return end
  }

  /// Sends as many bytes as the socket has room for.
  /// - Returns: The number of sent bytes, or `nil` if the other end is closed.
  package func send(_ bytes: some Collection<UInt8>) -> Int? {
    Array(bytes).withUnsafeBytes { socket.send($0) }
  }

  /// Returns the received bytes, at most `limit`, or `nil` if the other end closed or failed.
  package func receive(atMost limit: Int = 1 << 16) -> [UInt8]? {
    var isOver = false
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      count = 0
      switch socket.receive(into: UnsafeMutableRawBufferPointer(buffer)) {
      case .bytes(let received): count = received
      case .wouldBlock: break
      case .end, .failed: isOver = true
      }
    }
    return isOver ? nil : bytes
  }

  /// Returns all bytes until the other end closes.
  package func receiveAll() async throws -> [UInt8] {
    var all: [UInt8] = []
    try await reached("the other side closes") {
      guard let bytes = receive() else { return true }
      all += bytes
      return false
    }
    return all
  }

  /// Ends the sending direction.
  package func finish() { shutdown(socket.raw, CInt(SHUT_WR)) }
}
