package import UsherCore
package import UsherSystem

/// Operations on local sockets that do not carry bytes: binding the daemon's own sockets, and
/// identifying the peer of a connection. Tests replace them.
package protocol LocalSockets: Sendable {
  /// Binds a Unix socket at a path, with the given file mode, and listens. Blocks.
  ///
  /// - Throws: The errors of ``UnixListener/bind(path:mode:creatingParent:)``.
  func bind(_ path: String, mode: UInt32) throws -> CInt

  /// Removes the file of a Unix socket. Must be called while the socket is still open.
  func unlink(_ path: String)

  /// Returns the uid of the user at the other end of a Unix socket connection.
  ///
  /// - Throws: The errors of ``Peer/user(fd:)``.
  func user(_ descriptor: CInt) throws(UsherError) -> UInt32

  /// Returns the process at the other end of a Unix socket connection.
  ///
  /// - Throws: The errors of ``Peer/read(fd:)``.
  func peer(_ descriptor: CInt) throws(UsherError) -> Peer

  /// Whether the kernel identifies a peer's process by a pidfd, and not only by a process id, which
  /// may be reused.
  var tellsPeerByDescriptor: Bool { get }

  /// Returns the user at the client's end of a loopback TCP connection, like
  /// ``LoopbackPeer/uid(client:server:)``. May block.
  func loopbackUser(client: LoopbackPeer.Endpoint, server: LoopbackPeer.Endpoint) -> UInt32?

  /// Returns the users that listen at an address, like ``LoopbackPeer/listeners(at:)``. May block.
  func loopbackListeners(at endpoint: LoopbackPeer.Endpoint) -> Set<UInt32>?
}

/// The sockets of this machine's kernel.
struct KernelSockets: LocalSockets {
  func bind(_ path: String, mode: UInt32) throws -> CInt {
    try UnixListener.bind(path: path, mode: mode, creatingParent: true)
  }

  func unlink(_ path: String) { UnixListener.unlink(path: path) }

  func user(_ descriptor: CInt) throws(UsherError) -> UInt32 { try Peer.user(fd: descriptor) }

  func peer(_ descriptor: CInt) throws(UsherError) -> Peer { try Peer.read(fd: descriptor) }

  var tellsPeerByDescriptor: Bool { Peer.kernelHandsOutPidfds }

  func loopbackUser(client: LoopbackPeer.Endpoint, server: LoopbackPeer.Endpoint) -> UInt32? {
    LoopbackPeer.uid(client: client, server: server)
  }

  func loopbackListeners(at endpoint: LoopbackPeer.Endpoint) -> Set<UInt32>? {
    LoopbackPeer.listeners(at: endpoint)
  }
}
