import Glibc

/// The reason why a call got no answer from the daemon.
///
/// If the daemon answers and refuses the call, the error is an `UsherError`.
public struct ConnectionError: Error, Sendable, Equatable {
  public var kind: Kind
  public var socketPath: String
  /// The errno(3) of the failed system call; nil if no system call failed.
  public var errorNumber: Int32?

  public enum Kind: Sendable, Equatable {
    /// There is no socket at the path.
    case noSocket
    /// There is a socket, but no process listens on it.
    case refused
    /// The file permissions do not allow the caller to open the socket.
    case notPermitted
    /// The path is too long for a socket, or names something else.
    case badPath
    /// The socket's backlog is full: the daemon does not accept connections fast enough.
    case busy
    /// The connection ended before the answer came. The daemon may have performed the call.
    case lost
    /// The connection was closed by `UsherClient.close()`.
    case closed
    /// The daemon's answer is not JSON-RPC, or this client cannot decode it.
    case garbled
    /// The daemon's answer is longer than this client accepts
    /// (``UsherClient/UsherClient/maxReplyBytes``).
    case replyTooLarge
    /// The daemon speaks another version of the protocol.
    case incompatible
    /// Another error, mostly of a system call.
    case other
  }

  public init(_ kind: Kind, socketPath: String, errorNumber: Int32? = nil) {
    self.kind = kind
    self.socketPath = socketPath
    self.errorNumber = errorNumber
  }

  /// Creates the error for a connection that could not be opened.
  ///
  /// - Parameter errorNumber: The errno(3) of socket(2) or connect(2).
  init(connecting errorNumber: Int32, socketPath: String) {
    let kind: Kind =
      switch errorNumber {
      case ENOENT: .noSocket
      case ECONNREFUSED: .refused
      case EACCES, EPERM: .notPermitted
      case ENOTSOCK, ENOTDIR, ENAMETOOLONG, EPROTOTYPE: .badPath
      case EAGAIN: .busy
      default: .other
      }
    self.init(kind, socketPath: socketPath, errorNumber: errorNumber)
  }

  /// Whether the same call may succeed soon, because the daemon restarts or has not started yet.
  public var mayPass: Bool {
    switch kind {
    case .noSocket, .refused, .busy, .lost: true
    case .notPermitted, .badPath, .closed, .garbled, .replyTooLarge, .incompatible, .other: false
    }
  }
}

extension ConnectionError: CustomStringConvertible {
  public var description: String { hint.map { "\(message); \($0)" } ?? message }

  /// A message for people that says what happened.
  public var message: String {
    switch kind {
    case .noSocket: "the socket \(socketPath) does not exist"
    case .refused: "no process listens on \(socketPath)"
    case .notPermitted: "you have no permission to open \(socketPath)"
    case .badPath: "\(socketPath) is not a valid socket path"
    case .busy: "usherd is too busy to take another connection"
    case .lost: "usherd closed the connection before it answered"
    case .closed: "this client has been closed"
    case .garbled: "the reply on \(socketPath) is not valid JSON-RPC"
    case .replyTooLarge: "usherd sent a reply that is too large"
    case .incompatible: "usherd speaks another version of the protocol"
    case .other: "\(socketPath) cannot be opened (error \(errorNumber ?? 0))"
    }
  }

  /// A suggestion for people what to do next; nil if there is none.
  public var hint: String? {
    switch kind {
    case .noSocket, .refused: "to start usherd, run: systemctl start usherd.socket"
    case .notPermitted:
      "some calls are for administrators only: ask the administrator of this machine"
    case .lost: "see: journalctl -u usherd"
    case .garbled: "check that usherd listens there"
    case .incompatible: "use matching versions of client and daemon"
    case .badPath: "set USHER_SOCKET to another path"
    case .busy: "try again in a moment"
    case .closed, .replyTooLarge, .other: nil
    }
  }
}
