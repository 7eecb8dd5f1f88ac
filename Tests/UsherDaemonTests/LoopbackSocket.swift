import Glibc
import UsherTestKit

/// A TCP socket on 127.0.0.1.
final class LoopbackSocket {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  private(set) var port: UInt16 = 0

  private init(bound port: UInt16) throws {
    try use(port) { descriptor, address, size in Glibc.bind(descriptor, address, size) == 0 }
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isKnown = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(descriptor, $0, &size) == 0
      }
    }
    guard isKnown else { throw TestError("the socket has no port") }
    self.port = UInt16(bigEndian: address.sin_port)
  }

  convenience init(listening port: UInt16) throws {
    try self.init(bound: port)
    guard listen(descriptor, 1) == 0 else { throw TestError("it does not listen") }
  }

  /// - Throws: An error if no socket listens at the port.
  init(connectedTo port: UInt16) throws {
    try use(port) { descriptor, address, size in Glibc.connect(descriptor, address, size) == 0 }
  }

  /// Returns once a connection to the port is refused.
  ///
  /// That may be a moment after the socket was closed: a process that another test starts just then
  /// has a copy of the socket until it executes its program.
  static func nobodyListens(at port: UInt16) async throws {
    try await reached("nobody listens at \(port)") {
      (try? LoopbackSocket(connectedTo: port)) == nil
    }
  }

  deinit { close(descriptor) }

  private func use(
    _ port: UInt16, _ body: (CInt, UnsafePointer<sockaddr>, socklen_t) -> Bool
  ) throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isDone = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body(descriptor, $0, size) }
    }
    guard isDone else { throw TestError("no socket at \(port)") }
  }

  func send(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw TestError("the connection is closed")
    }
  }

  /// Returns all bytes until the other end closes.
  func answer(to text: String) throws -> String {
    try send(text)
    var answer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    let deadline = TestDeadline()
    while true {
      guard deadline.isReadable(descriptor) else {
        throw TestError("the connection is still open after \(answer.count) bytes")
      }
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
      answer += chunk.prefix(count)
    }
  }
}
