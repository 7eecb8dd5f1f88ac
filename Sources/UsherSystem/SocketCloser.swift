import Dispatch
import Glibc
import Synchronization

/// Closes sockets beside the event loop.
///
/// To close a socket the kernel frees all that was sent to it and wakes who sent it. With a full socket
/// that takes ten times as long as to accept it, and whoever connects next would wait for it.
package final class SocketCloser: Sendable {
  /// The most sockets that may wait to be closed, because each has a descriptor. The caller closes the rest.
  private static let most = 256

  private let queue = DispatchQueue(label: "usherd.closing")
  private let waiting = Atomic<Int>(0)

  package init() {}

  package func close(_ sockets: some Collection<CInt>) {
    let count = sockets.count
    guard count > 0 else { return }
    guard waiting.add(count, ordering: .relaxed).newValue <= Self.most else {
      for socket in sockets { _ = Glibc.close(socket) }
      waiting.subtract(count, ordering: .relaxed)
      return
    }
    let kept = Array(sockets)
    queue.async { [self] in
      for socket in kept { _ = Glibc.close(socket) }
      waiting.subtract(count, ordering: .relaxed)
    }
  }
}
