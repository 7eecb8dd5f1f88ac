import CSystemd
import Glibc

/// A pidfd: it identifies one process permanently, even if the process id is reused.
final class ProcessDescriptor: Sendable {
  private let descriptor: Descriptor

  /// Opens the pidfd of the process that connected, as recorded by the kernel for the socket
  /// (SO_PEERPIDFD).
  ///
  /// - Throws: `ENOPROTOOPT` before Linux 6.5 (Debian 12 has 6.1), or another error if the process
  ///   is gone. Some kernels return a pidfd even then; ``isRunning`` is false for it.
  init(peerOf socket: CInt) throws(Errno) {
    descriptor = try Descriptor(result: usher_peer_pidfd(socket))
  }

  /// Opens the pidfd of the process that has this id now: pidfd_open(2).
  init(process: Int32) throws(Errno) {
    descriptor = try Descriptor(result: usher_pidfd_open(process))
  }

  /// Whether the process has not ended. While it has not, its process id cannot be reused.
  var isRunning: Bool {
    var state = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
    var result: CInt
    repeat { result = poll(&state, 1, 0) } while result < 0 && errno == EINTR
    return result == 0
  }
}
