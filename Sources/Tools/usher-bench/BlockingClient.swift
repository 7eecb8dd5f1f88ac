import Glibc

/// A connection for one call at a time. To add little to what it measures, it sends prepared bytes
/// and searches replies only for the end of a line.
final class BlockingClient {
  private let descriptor: CInt
  private var buffer = [UInt8](repeating: 0, count: 65_536)

  /// - Throws: `BenchError` if no server listens.
  init(_ path: String) throws {
    descriptor = try Self.connected(path)
    // A daemon that does not reply must not block the measurement for ever.
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  static func connected(_ path: String) throws -> CInt {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard withSocketAddress(path, { connect(descriptor, $0, $1) }) == 0 else {
      let reason = errno
      close(descriptor)
      throw BenchError("cannot connect to \(path): \(String(cString: strerror(reason)))")
    }
    return descriptor
  }

  /// Returns the nanoseconds from the call to the end of its reply.
  ///
  /// - Parameter replies: The number of calls in `line`, if it contains several lines.
  func time(_ line: [UInt8], replies: Int = 1) throws -> UInt64 {
    let start = Self.now()
    guard send(descriptor, line, line.count, CInt(MSG_NOSIGNAL)) == line.count else {
      throw BenchError("the daemon closed the connection")
    }
    var missing = replies
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count != 0 else { throw BenchError("the daemon closed the connection") }
      guard count > 0 else { throw BenchError("no reply within 30 s") }
      if missing > 1 { missing -= buffer.prefix(count - 1).count { $0 == UInt8(ascii: "\n") } }
      guard buffer[count - 1] == UInt8(ascii: "\n") else { continue }
      if missing <= 1 { return Self.now() - start }
      missing -= 1
    }
  }

  /// The first line of the bytes received last.
  var reply: String { String(decoding: buffer.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self) }

  static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// Calls a function with the address of a Unix socket.
///
/// - Returns: The result of `body`; -1 with errno if the path is too long for an address.
func withSocketAddress(
  _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
) -> CInt {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  let name = Array(path.utf8) + [0]
  guard name.count <= MemoryLayout.size(ofValue: address.sun_path) else {
    errno = ENAMETOOLONG
    return -1
  }
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
  let size = socklen_t(MemoryLayout<sockaddr_un>.size)
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
  }
}

struct BenchError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
