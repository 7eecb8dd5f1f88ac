import CSystemd
import Glibc

/// A pidfd: names one process for good, however its number is used again.
package final class ProcessDescriptor: Sendable {
  /// The descriptor itself; closed with this object.
  package let raw: CInt

  init(owning raw: CInt) { self.raw = raw }

  deinit { close(raw) }

  /// The process that connected, in the kernel's own knowledge; nil before Linux 6.5 (Debian 12 has
  /// 6.1), and where that process is gone.
  convenience init?(peerOf socket: CInt) {
    let raw = usher_peer_pidfd(socket)
    guard raw >= 0 else { return nil }
    self.init(owning: raw)
  }

  /// The process that has this number now.
  convenience init?(process: Int32) {
    guard process > 0 else { return nil }
    let raw = usher_pidfd_open(process)
    guard raw >= 0 else { return nil }
    self.init(owning: raw)
  }

  /// Whether the process has not ended yet: then its number has been its own all the time.
  package var isRunning: Bool {
    var state = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
    var result: CInt
    repeat { result = poll(&state, 1, 0) } while result < 0 && errno == EINTR
    return result == 0
  }
}
