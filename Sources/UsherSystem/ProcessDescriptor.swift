import CSystemd
import Glibc

/// A pidfd: names one process for good, however its number is used again.
final class ProcessDescriptor: Sendable {
  let raw: CInt

  deinit { close(raw) }

  /// The process that connected, in the kernel's own knowledge.
  ///
  /// - Throws: `ENOPROTOOPT` before Linux 6.5 (Debian 12 has 6.1); another error where the process is
  ///   gone. Some kernels hand out the pidfd of one that is gone: then it does not run.
  convenience init(peerOf socket: CInt) throws(Errno) {
    try self.init(usher_peer_pidfd(socket))
  }

  /// The process that has this number now.
  convenience init(process: Int32) throws(Errno) {
    try self.init(usher_pidfd_open(process))
  }

  private init(_ result: CInt) throws(Errno) {
    guard result >= 0 else { throw Errno(-result) }
    raw = result
  }

  /// Whether the process has not ended yet: then its number has been its own all the time.
  var isRunning: Bool {
    var state = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
    var result: CInt
    repeat { result = poll(&state, 1, 0) } while result < 0 && errno == EINTR
    return result == 0
  }
}
