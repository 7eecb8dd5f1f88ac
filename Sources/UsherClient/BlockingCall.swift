import Glibc
import JSONRPC
package import UsherAPI
import UsherCore

extension UsherClient {
  /// Makes one call on a connection of its own, and blocks the calling thread until the reply.
  ///
  /// It is for functions that cannot be `async`. It needs no other thread, so it also returns if
  /// all threads of Swift's concurrent executor are blocked. The call is not repeated.
  ///
  /// - Parameter limit: The time for connecting, sending and receiving together.
  /// - Throws: `UsherError` from the daemon, or with reason `deadlineExceeded`;
  ///   ``ConnectionError``.
  package func callBlocking<M: Method>(_ method: M, within limit: Duration) throws -> M.Reply {
    let end = ContinuousClock.now + limit
    var line: [UInt8] = []
    line.appendRequest(method: M.name, params: try ReplyCoding.encode(method), id: Self.blockingID)
    line.append(UInt8(ascii: "\n"))
    let socket = try BlockingSocket(path: socketPath, until: end)
    try socket.send(line)
    let reply = try socket.receiveLine(upTo: Self.maxReplyBytes)
    guard let result = try? Self.result(in: reply) else {
      throw ConnectionError(.garbled, socketPath: socketPath)
    }
    let bytes = try result.mapError { UsherError($0) as any Error }.get()
    guard let value = try? ReplyCoding.decode(M.Reply.self, from: bytes) else {
      throw ConnectionError(.garbled, socketPath: socketPath)
    }
    return value
  }

  private static let blockingID = RequestID(1)

  private static func result(in line: [UInt8]) throws -> Result<[UInt8], ResponseError>? {
    let limits = JSONLimits(lineBytes: .max, nesting: 128, batch: .max)
    let messages = try line.withUnsafeBytes { try ServerMessage.read($0, limits: limits) }
    guard case .response(let response)? = messages.first else { return nil }
    return response.outcome
  }
}

/// A connected Unix socket whose calls block until a deadline.
private final class BlockingSocket {
  private let descriptor: Int32
  private let path: String
  private let end: ContinuousClock.Instant

  init(path: String, until end: ContinuousClock.Instant) throws {
    self.path = path
    self.end = end
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else {
      throw ConnectionError(.badPath, socketPath: path)
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_UNIX, type, 0)
    self.descriptor = descriptor
    guard descriptor >= 0 else { throw ConnectionError(connecting: errno, socketPath: path) }
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        Glibc.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard status == 0 else { throw ConnectionError(connecting: errno, socketPath: path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        Glibc.send(
          descriptor, buffer.baseAddress! + sent, buffer.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count >= 0 { sent += count } else { try wait(for: POLLOUT) }
    }
  }

  /// Returns the next line without its end.
  func receiveLine(upTo limit: Int) throws -> [UInt8] {
    var line: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count == 0 { throw ConnectionError(.lost, socketPath: path) }
      guard count > 0 else {
        try wait(for: POLLIN)
        continue
      }
      if let newline = buffer[..<count].firstIndex(of: UInt8(ascii: "\n")) {
        return line + buffer[..<newline]
      }
      line += buffer[..<count]
      guard line.count <= limit else { throw ConnectionError(.replyTooLarge, socketPath: path) }
    }
  }

  /// Waits after a system call that failed, if it failed because it would have blocked.
  private func wait(for events: Int32) throws {
    if errno == EINTR { return }
    guard errno == EAGAIN else {
      throw ConnectionError(.lost, socketPath: path, errorNumber: errno)
    }
    var poll = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    let left = end - ContinuousClock.now
    let milliseconds = Int32(clamping: left.milliseconds)
    guard left > .zero, Glibc.poll(&poll, 1, max(1, milliseconds)) != 0 else {
      throw UsherError(.deadlineExceeded, "usherd did not answer in time")
    }
  }
}
