package import UsherSystem

/// Decides about the connections of a ``SocketServer``. The methods are called on the server's
/// event loop.
package protocol SocketAcceptor: Sendable {
  /// Accepts one connection from the backlog of the socket that every user may connect to.
  func accept(from listener: DirectSocket, on loop: SocketLoop) -> DirectSocket.Accepted

  /// Takes over a new socket: serves its peer or closes the socket.
  ///
  /// - Parameters:
  ///   - isAdmin: Whether the peer connected to the admin socket.
  ///   - isCrowded: Whether the backlog is filled faster than it is emptied.
  /// - Returns: The cause, for the log, if the daemon cannot serve the peer. Nil if it does, and
  ///   also after an ordinary refusal.
  func admit(_ socket: DirectSocket, on loop: SocketLoop, isAdmin: Bool, isCrowded: Bool) -> String?

  /// Logs that new connections are not accepted for now.
  ///
  /// - Parameter cause: The text of the kernel's error.
  func logNotAccepting(_ cause: String)
}

/// Server of one listening Unix socket. It accepts connections; a ``SocketAcceptor`` serves them.
package struct SocketServer: Sendable {
  /// The length of the listen backlog; the kernel limits it to `net.core.somaxconn`, usually 4096.
  /// It is as long as possible, because a non-blocking connect fails if the backlog is full,
  /// whichever user filled it. ``Listener`` empties the backlog in each loop iteration.
  private static let queue = 65_535

  private let listener: OnLoop<Listener>
  /// Removes the socket file if the daemon created it; does nothing if systemd did.
  private let removeFile: @Sendable () -> Void

  /// Starts serving a socket.
  ///
  /// - Parameters:
  ///   - descriptor: A bound socket; the server closes it.
  ///   - path: The path of the socket file if the daemon created it, else nil.
  ///   - isAdmin: Whether the socket is the admin socket.
  ///   - remove: Removes the socket file.
  package static func serve(
    _ descriptor: CInt, path: String?, isAdmin: Bool, on loop: SocketLoop,
    acceptor: any SocketAcceptor, removing remove: @escaping @Sendable (_ path: String) -> Void
  ) async throws -> SocketServer {
    let socket = DirectSocket(descriptor)
    try socket.listen(waiting: queue)
    let listener = try await loop.submit {
      let listener = Listener(socket, on: loop, acceptor: acceptor, isAdmin: isAdmin)
      try listener.begin(.readable)
      return OnLoop(listener, loop)
    }
    return SocketServer(listener: listener) { if let path { remove(path) } }
  }

  /// Removes the socket file and stops accepting. No connection is accepted after this returns.
  package func close() async {
    removeFile()
    try? await listener.loop.submit { [listener] in listener.value.close() }
  }
}
