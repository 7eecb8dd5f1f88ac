package import Foundation

/// A socket of a test, which is closed on deinitialization. Every wait has a time limit, which is
/// scaled as ``TestDeadline`` says.
package final class TestSocket: Sendable {
  package enum Address: Sendable, CustomStringConvertible {
    /// 127.0.0.1. If a socket is bound to port 0, the kernel chooses the port.
    case loopback(port: UInt16)
    /// The IPv6 address ::1.
    case loopbackIPv6(port: UInt16)
    case unix(path: String)

    package var description: String {
      switch self {
      case .loopback(let port): "127.0.0.1:\(port)"
      case .loopbackIPv6(let port): "[::1]:\(port)"
      case .unix(let path): path
      }
    }

    fileprivate var hasFixedPort: Bool {
      switch self {
      case .loopback(let port), .loopbackIPv6(let port): port > 0
      case .unix: false
      }
    }

    fileprivate var family: CInt {
      switch self {
      case .loopback: AF_INET
      case .loopbackIPv6: AF_INET6
      case .unix: AF_UNIX
      }
    }

    /// Calls `body` with the address in the form that bind(2) and connect(2) take.
    package func withRaw<Value>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
      switch self {
      case .loopback(let port):
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return Self.withRaw(address, body)
      case .loopbackIPv6(let port):
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        address.sin6_addr = in6addr_loopback
        return Self.withRaw(address, body)
      case .unix(let path):
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return Self.withRaw(address, body)
      }
    }

    private static func withRaw<Raw, Value>(
      _ address: Raw, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value
    ) -> Value {
      withUnsafePointer(to: address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          body($0, socklen_t(MemoryLayout<Raw>.size))
        }
      }
    }
  }

  package let descriptor: CInt

  private init(_ address: Address, _ kind: __socket_type) {
    descriptor = socket(address.family, CInt(kind.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  /// Creates a socket that is bound to an address but does not listen.
  package convenience init(boundTo address: Address, kind: __socket_type = SOCK_STREAM) throws {
    self.init(address, kind)
    try bind(to: address)
  }

  /// - Parameter backlog: The number of connections that may wait to be accepted.
  package convenience init(listeningAt address: Address, backlog: CInt = 16) throws {
    self.init(address, SOCK_STREAM)
    if address.hasFixedPort {
      // Connections of an earlier listener may not have ended yet.
      var yes: CInt = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
    }
    try bind(to: address)
    guard listen(descriptor, backlog) == 0 else { throw failure("listen at", address) }
  }

  /// - Throws: ``TestError`` if the connection is refused or not made in time.
  package convenience init(
    connectedTo address: Address, by deadline: TestDeadline = TestDeadline()
  ) throws {
    self.init(address, SOCK_STREAM)
    let flags = fcntl(descriptor, F_GETFL)
    _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
    // A further call of connect(2) continues an attempt that has not ended.
    let isConnected = try deadline.isMet { isLast in
      if address.withRaw({ connect(descriptor, $0, $1) }) == 0 { return true }
      guard [EAGAIN, EALREADY, EINPROGRESS].contains(errno) else {
        throw failure("connect to", address)
      }
      if !isLast { poll(nil, 0, 5) }
      return false
    }
    _ = fcntl(descriptor, F_SETFL, flags)
    guard isConnected else { throw TestError("no connection to \(address) in time") }
  }

  deinit { close(descriptor) }

  private func bind(to address: Address) throws {
    let result = address.withRaw { Glibc.bind(descriptor, $0, $1) }
    guard result == 0 else { throw failure("bind", address) }
  }

  private func failure(_ action: String, _ address: Address) -> TestError {
    TestError("cannot \(action) \(address): \(String(cString: strerror(errno)))")
  }

  /// The TCP port that the socket is bound to.
  package var port: UInt16 {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  /// Sends all bytes.
  ///
  /// - Throws: ``TestError`` if the other end is closed or does not read in time.
  package func send(_ bytes: [UInt8], by deadline: TestDeadline = TestDeadline()) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard deadline.isWritable(descriptor) else {
        throw TestError("\(rest.count) bytes were not read in time")
      }
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
      }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EAGAIN {
        throw TestError("the connection is closed: \(String(cString: strerror(errno)))")
      }
    }
  }

  /// Returns the next bytes, at most 64 KiB, or nil if the other end is closed.
  ///
  /// - Throws: ``TestError`` if nothing arrives in time.
  package func receive(by deadline: TestDeadline = TestDeadline()) throws -> [UInt8]? {
    guard deadline.isReadable(descriptor) else { throw TestError("nothing was received in time") }
    let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
    }
    return bytes.isEmpty ? nil : bytes
  }

  /// Returns all bytes until the other end closes.
  ///
  /// - Throws: ``TestError`` if the other end does not close in time.
  package func receiveAll(by deadline: TestDeadline = TestDeadline()) throws -> [UInt8] {
    var all: [UInt8] = []
    while let bytes = try receive(by: deadline) { all += bytes }
    return all
  }
}
