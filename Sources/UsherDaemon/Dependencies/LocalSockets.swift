package import UsherCore
package import UsherSystem

/// Operations on local sockets beside carrying bytes: binding the daemon's own sockets, and
/// identifying the peer of a connection.
package protocol LocalSockets: Sendable {
  /// Binds a Unix socket at a path, with the given file mode, and listens. Blocks.
  ///
  /// - Throws: As ``UnixListener/bind(path:mode:creatingParent:)``.
  func bind(_ path: String, mode: UInt32) throws -> CInt

  /// Removes the file of a Unix socket. Call it while the socket is still open.
  func unlink(_ path: String)

  /// Returns the user at the other end of a Unix socket connection.
  ///
  /// - Throws: As ``Peer/user(fd:)``.
  func user(_ descriptor: CInt) throws(UsherError) -> UInt32

  /// Returns the process at the other end of a Unix socket connection.
  ///
  /// - Throws: As ``Peer/read(fd:)``.
  func peer(_ descriptor: CInt) throws(UsherError) -> Peer

  /// Whether the kernel identifies a peer's process by descriptor, and not only by a number that
  /// may be reused.
  var tellsPeerByDescriptor: Bool { get }

  /// Like ``LoopbackPeer/uid(client:server:)``. May block.
  func loopbackUser(client: LoopbackPeer.Endpoint, server: LoopbackPeer.Endpoint) -> UInt32?

  /// Like ``LoopbackPeer/listeners(at:)``. May block.
  func loopbackListeners(at endpoint: LoopbackPeer.Endpoint) -> Set<UInt32>?
}

/// Sockets of this machine's kernel.
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
