import Foundation
import UsherTestKit

/// The socket `$NOTIFY_SOCKET` on which systemd receives notifications (sd_notify(3)).
final class NotifySocket {
  private let descriptor: Int32

  init(_ path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8) + [0]) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    try must(result == 0, "cannot bind \(path): \(String(cString: strerror(errno)))")
  }

  deinit { close(descriptor) }

  /// Returns the next message that contains this line; earlier messages are dropped.
  @discardableResult
  func message(with line: String, within seconds: Double = 60) throws -> String {
    let deadline = TestDeadline(within: seconds)
    while true {
      try must(deadline.isReadable(descriptor), "no notification \(line) within \(seconds) s")
      let message = receive()
      if message.split(separator: "\n").contains(Substring(line)) { return message }
    }
  }

  /// The messages that have arrived and are unread.
  var messages: [String] {
    var all: [String] = []
    var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&poller, 1, 0) > 0 { all.append(receive()) }
    return all
  }

  private func receive() -> String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
