import Glibc
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

/// The other end of a connection. It never waits for the kernel.
final class FarEnd: Sendable {
  private let socket: DirectSocket

  private init(_ socket: DirectSocket) { self.socket = socket }

  deinit { socket.close() }

  /// - Returns: Two ends; the near one is the caller's to close.
  static func pair() throws -> (near: DirectSocket, far: FarEnd) {
    var ends: [CInt] = [-1, -1]
    let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    guard socketpair(AF_UNIX, CInt(kind), 0, &ends) == 0 else { throw TestError("no pair") }
    return (DirectSocket(ends[0]), FarEnd(DirectSocket(ends[1])))
  }

  /// Connects to a listening socket's file.
  static func connected(to path: String) throws -> FarEnd {
    let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    let end = FarEnd(DirectSocket(Glibc.socket(AF_UNIX, CInt(kind), 0)))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8) + [0]) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(end.socket.raw, $0, size) }
    }
    guard result == 0 else { throw TestError("cannot connect: \(errno)") }
    return end
  }

  /// Sends what there is room for.
  ///
  /// - Returns: How many bytes; nil where nobody listens any more.
  func send(_ bytes: some Collection<UInt8>) -> Int? {
    Array(bytes).withUnsafeBytes { socket.send($0) }
  }

  /// What has come, at most so many bytes; nil where the other side has closed, or is broken.
  func receive(atMost limit: Int = 1 << 16) -> [UInt8]? {
    var isOver = false
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      count = 0
      switch socket.receive(into: UnsafeMutableRawBufferPointer(buffer)) {
      case .bytes(let received): count = received
      case .nothing: break
      case .end, .failed: isOver = true
      }
    }
    return isOver ? nil : bytes
  }

  /// All that comes until the other side closes.
  func receiveAll() async throws -> [UInt8] {
    var all: [UInt8] = []
    try await until("the other side closes") {
      guard let bytes = receive() else { return true }
      all += bytes
      return false
    }
    return all
  }

  /// Nothing more will be sent.
  func finish() { shutdown(socket.raw, CInt(SHUT_WR)) }
}

/// Looks again and again, letting others go on.
func until(_ what: String, _ holds: () async throws -> Bool) async throws {
  let limit = ContinuousClock.now + .seconds(60)
  while try await !holds() {
    guard ContinuousClock.now < limit else { throw TestError("never: \(what)") }
    await Task.yield()
  }
}
