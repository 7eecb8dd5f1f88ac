package import NIOCore
package import UsherCore
package import UsherSystem

/// Operations on local sockets that do not carry bytes: binding the daemon's own sockets, and
/// identifying the peer of a connection. By default those of this machine's kernel.
package struct LocalSockets: Sendable {
  /// The error if a peer cannot be identified.
  package typealias Failure = UsherError

  /// Binds a Unix socket at a path, with the given file mode, and listens. Blocks.
  package var bind: @Sendable (_ path: String, _ mode: UInt32) throws -> CInt = {
    try UnixListener.bind(path: $0, mode: $1, creatingParent: true)
  }

  /// Removes the file of a Unix socket. Must be called while the socket is still open.
  var unlink: @Sendable (_ path: String) -> Void = { UnixListener.unlink(path: $0) }

  /// Returns the uid of the user at the other end of a Unix socket connection.
  package var user: @Sendable (_ descriptor: CInt) throws(Failure) -> UInt32 = {
    descriptor throws(Failure) in try Peer.user(fd: descriptor)
  }

  /// Returns the process at the other end of a Unix socket connection.
  package var peer: @Sendable (_ descriptor: CInt) throws(Failure) -> Peer = {
    descriptor throws(Failure) in try Peer.read(fd: descriptor)
  }

  /// Whether the kernel identifies a peer's process by a pidfd, and not only by a process id, which
  /// may be reused.
  package var tellsPeerByDescriptor: @Sendable () -> Bool = { Peer.kernelHandsOutPidfds }

  /// Binds a listener for browsers to a loopback address; nil: a TCP socket of this machine.
  package var bindForBrowsers: (@Sendable (SocketAddress) async throws -> any Channel)?

  /// Returns the user at the client's end of a loopback TCP connection, like
  /// ``LoopbackPeer/uid(client:server:)``. May block.
  var loopbackUser:
    @Sendable (_ client: LoopbackPeer.Endpoint, _ server: LoopbackPeer.Endpoint) -> UInt32? = {
      LoopbackPeer.uid(client: $0, server: $1)
    }

  /// Returns the users that listen at an address, like ``LoopbackPeer/listeners(at:)``. May block.
  var loopbackListeners: @Sendable (LoopbackPeer.Endpoint) -> Set<UInt32>? = {
    LoopbackPeer.listeners(at: $0)
  }
}
