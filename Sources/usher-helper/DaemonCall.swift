import Glibc
import UsherHelpers

/// One call on a connection of its own.
enum DaemonCall {
  /// Sends a line, and returns the line of the reply without its `\n`. The call is not repeated.
  static func send(
    _ line: [UInt8], to path: String, until deadline: Deadline
  ) -> Result<[UInt8], TokenFailure> {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    let socket = Glibc.socket(AF_UNIX, type, 0)
    guard socket >= 0 else { return .failure(.connecting(errno, path)) }
    defer { close(socket) }
    // The kernel waits this long in connect(2), if the backlog is full, and in send(2).
    let limit = max(deadline.milliseconds, 1)
    var time = timeval(tv_sec: Int(limit) / 1000, tv_usec: Int(limit) % 1000 * 1000)
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    do throws(TokenFailure) {
      try connect(socket, path)
      try send(line, socket)
      return .success(try receive(socket, until: deadline))
    } catch {
      return .failure(error)
    }
  }

  private static func connect(_ socket: Int32, _ path: String) throws(TokenFailure) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path),
      !bytes.contains(0)
    else { throw .connecting(ENAMETOOLONG, path) }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        Glibc.connect(socket, address, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard status == 0 else { throw .connecting(errno, path) }
  }

  private static func send(_ line: [UInt8], _ socket: Int32) throws(TokenFailure) {
    var sent = 0
    while sent < line.count {
      let count = line.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count >= 0 {
        sent += count
      } else if errno != EINTR {
        throw errno == EAGAIN ? .late : .lost
      }
    }
  }

  private static func receive(
    _ socket: Int32, until deadline: Deadline
  ) throws(TokenFailure) -> [UInt8] {
    var line: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      guard deadline.wait(for: POLLIN, on: socket) else { throw .late }
      let count = recv(socket, &buffer, buffer.count, 0)
      guard count != 0 else { throw .lost }
      guard count > 0 else {
        if errno == EINTR { continue }
        throw .lost
      }
      let part = buffer[..<count]
      if let end = part.firstIndex(of: UInt8(ascii: "\n")) { return line + part[..<end] }
      line += part
      guard line.count <= TokenQuestion.maxReplyBytes else { throw .unreadable }
    }
  }
}

extension TokenFailure {
  fileprivate static let late = TokenFailure.unavailable("usherd did not answer in time")
  fileprivate static let lost = TokenFailure.unavailable(
    "usherd closed the connection before it answered")

  private static let start = "to start usherd, run: systemctl start usherd.socket"

  /// The failure for an errno(3) of socket(2) or connect(2).
  fileprivate static func connecting(_ number: Int32, _ path: String) -> TokenFailure {
    switch number {
    case ENOENT: .unavailable("the socket \(path) does not exist; \(start)")
    case ECONNREFUSED: .unavailable("no process listens on \(path); \(start)")
    case EACCES, EPERM: .unavailable("you have no permission to open \(path)")
    case EAGAIN, EINPROGRESS: .late
    case ENAMETOOLONG, ENOTSOCK, ENOTDIR, EPROTOTYPE:
      .unavailable("\(path) is not a valid socket path")
    default: .unavailable("\(path) cannot be opened (error \(number))")
    }
  }
}
