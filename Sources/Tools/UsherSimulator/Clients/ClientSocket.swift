import Glibc

/// A connection of a simulated client to the daemon's socket. It never blocks.
final class ClientSocket {
  private let descriptor: CInt
  private var unsent: [UInt8] = []
  private var received: [UInt8] = []
  private(set) var isOpen = true

  /// Connects; returns nil if nobody listens at the path.
  init?(to path: String, as identity: ClientIdentity) {
    descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    let isConnected =
      Self.call(bind, descriptor, abstract: true, identity.socketName)
      && Self.call(connect, descriptor, abstract: false, path)
    // The socket of a failed connection is closed by `deinit`.
    guard isConnected else { return nil }
  }

  deinit { close() }

  private static func call(
    _ function: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt, _ descriptor: CInt,
    abstract: Bool, _ name: String
  ) -> Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = (abstract ? [0] : []) + Array(name.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = MemoryLayout<sa_family_t>.size + bytes.count + (abstract ? 0 : 1)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        function(descriptor, $0, socklen_t(length)) == 0
      }
    }
  }

  /// Sends bytes after those that were not sent yet, as many as the kernel accepts.
  func send(_ bytes: [UInt8]) {
    unsent += bytes
    flush()
  }

  /// Sends bytes that were not sent yet.
  func flush() {
    while isOpen, !unsent.isEmpty {
      let count = unsent.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      guard count > 0 else {
        if errno != EAGAIN { unsent = [] }
        return
      }
      unsent.removeFirst(count)
    }
  }

  /// Reads what has arrived, and returns the complete lines.
  ///
  /// - Parameter limit: The most bytes to read.
  func lines(atMost limit: Int = .max) -> [[UInt8]] {
    var chunk = [UInt8](repeating: 0, count: min(limit, 65_536))
    var total = 0
    while isOpen, total < limit {
      let count = recv(descriptor, &chunk, min(chunk.count, limit - total), 0)
      if count > 0 {
        received += chunk[..<count]
        total += count
      } else {
        if count == 0 || errno != EAGAIN { close() }
        break
      }
    }
    var lines: [[UInt8]] = []
    while let end = received.firstIndex(of: UInt8(ascii: "\n")) {
      lines.append(Array(received[..<end]))
      received.removeSubrange(...end)
    }
    return lines
  }

  /// Whether something can be read, or the daemon has closed the connection.
  var hasInput: Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return isOpen && poll(&request, 1, 0) > 0
  }

  func close() {
    guard isOpen else { return }
    isOpen = false
    Glibc.close(descriptor)
  }
}
