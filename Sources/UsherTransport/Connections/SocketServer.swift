package import UsherSystem

/// Decides about the connections of a ``SocketServer``. The methods are called on its loop.
package protocol SocketAcceptor: Sendable {
  /// Accepts one waiting connection of the socket that every user may connect to.
  func accept(from listener: DirectSocket, on loop: SocketLoop) -> DirectSocket.Accepted

  /// Takes over a new socket: serves its peer or closes it.
  ///
  /// - Parameters:
  ///   - isAdmin: Whether the peer connected to the admin socket.
  ///   - isCrowded: Whether more connections wait than are accepted.
  /// - Returns: The cause if the peer cannot be served; nil also after an ordinary refusal.
  func admit(_ socket: DirectSocket, on loop: SocketLoop, isAdmin: Bool, isCrowded: Bool) -> String?

  /// Logs that new connections are not accepted for now.
  ///
  /// - Parameter cause: The kernel's error.
  func logNotAccepting(_ cause: String)
}

/// Server of one listening Unix socket: transport only.
package struct SocketServer: Sendable {
  /// The length of the listen backlog; the kernel limits it to `net.core.somaxconn`, usually 4096.
  /// A non-blocking connect fails if the backlog is full, whichever user filled it, so it is long.
  /// It empties fast, because ``Listener`` accepts all waiting connections.
  private static let queue = 65_535

  private let listener: OnLoop<Listener>
  /// Removes the socket's file if the daemon created it.
  private let removeFile: @Sendable () -> Void

  /// Starts serving a socket.
  ///
  /// - Parameters:
  ///   - descriptor: A bound socket; the server closes it.
  ///   - path: The socket's file if the daemon created it, else nil.
  ///   - isAdmin: Whether the socket is the admin socket.
  ///   - remove: Removes the file.
  package static func serve(
    _ descriptor: CInt, path: String?, isAdmin: Bool, on loop: SocketLoop,
    acceptor: any SocketAcceptor, removing remove: @escaping @Sendable (_ path: String) -> Void
  ) async throws -> SocketServer {
    let socket = DirectSocket(descriptor)
    try socket.listen(waiting: queue)
    let listener = try await loop.submit {
      let listener = Listener(
        socket, on: loop,
        accept: { isAdmin ? $0.accept() : acceptor.accept(from: $0, on: loop) },
        welcome: { acceptor.admit($0, on: loop, isAdmin: isAdmin, isCrowded: $1) },
        tell: { acceptor.logNotAccepting($0) })
      try listener.begin(.readable)
      return OnLoop(listener, loop)
    }
    return SocketServer(listener: listener) { if let path { remove(path) } }
  }

  /// Removes the socket's file and stops accepting. No connection is accepted after this returns.
  package func close() async {
    removeFile()
    try? await listener.loop.submit { [listener] in listener.value.close() }
  }
}
