import Foundation
import UsherTestKit

/// The socket `$NOTIFY_SOCKET` on which systemd receives notifications (sd_notify(3)).
final class NotifySocket {
  private let socket: TestSocket

  init(_ path: String) throws {
    socket = try TestSocket(boundTo: .unix(path: path), kind: SOCK_DGRAM)
  }

  /// Returns the next message that contains this line; earlier messages are dropped.
  @discardableResult
  func message(with line: String, within seconds: Double = 60) throws -> String {
    let deadline = TestDeadline(within: seconds)
    while true {
      let isReadable = deadline.isReadable(socket.descriptor)
      try must(isReadable, "no notification \(line) within \(seconds) s")
      let message = receive()
      if message.split(separator: "\n").contains(Substring(line)) { return message }
    }
  }

  /// The messages that have arrived and are unread.
  var messages: [String] {
    var all: [String] = []
    var poller = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&poller, 1, 0) > 0 { all.append(receive()) }
    return all
  }

  private func receive() -> String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(socket.descriptor, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
