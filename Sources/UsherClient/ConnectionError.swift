/// Why a call got no answer from the daemon.
///
/// What the daemon itself refuses is an `UsherError`.
public struct ConnectionError: Error, Sendable, Equatable {
  public var kind: Kind
  public var socketPath: String
  /// The kernel's error number, where it was the kernel that refused.
  public var errorNumber: Int32?

  public enum Kind: Sendable, Equatable {
    /// There is no socket at the path.
    case noSocket
    /// There is a socket, and nobody listens on it.
    case refused
    /// The caller may not open the socket.
    case notPermitted
    /// The path cannot be a socket's: too long, or not a socket.
    case badPath
    /// The daemon does not take connections fast enough.
    case busy
    /// The connection ended before the answer came. Whether the call was carried out is not known.
    case lost
    /// The connection was closed by `UsherClient.close()`.
    case closed
    /// What came back is not JSON-RPC, or not what this client knows.
    case garbled
    /// A line came back that is longer than this client accepts.
    case replyTooLarge
    /// The daemon speaks another version of the protocol.
    case incompatible
    /// Another error of the kernel.
    case other
  }

  public init(_ kind: Kind, socketPath: String, errorNumber: Int32? = nil) {
    self.kind = kind
    self.socketPath = socketPath
    self.errorNumber = errorNumber
  }

  /// Whether the same call may get its answer in a moment: the daemon restarts, or is not up yet.
  public var mayPass: Bool {
    switch kind {
    case .noSocket, .refused, .busy, .lost: true
    case .notPermitted, .badPath, .closed, .garbled, .replyTooLarge, .incompatible, .other: false
    }
  }
}

extension ConnectionError: CustomStringConvertible {
  public var description: String { hint.map { "\(message); \($0)" } ?? message }

  /// What happened: a sentence for people.
  public var message: String {
    switch kind {
    case .noSocket: "there is no socket at \(socketPath)"
    case .refused: "nobody listens on \(socketPath)"
    case .notPermitted: "\(socketPath) may not be opened by you"
    case .badPath: "\(socketPath) cannot be the path of a socket"
    case .busy: "usherd is too busy to take another connection"
    case .lost: "usherd closed the connection before it answered"
    case .closed: "this client has been closed"
    case .garbled: "what answered on \(socketPath) cannot be understood"
    case .replyTooLarge: "usherd sent a reply that is too large"
    case .incompatible: "usherd speaks another version of the protocol"
    case .other: "\(socketPath) cannot be opened (error \(errorNumber ?? 0))"
    }
  }

  /// What to do about it, where that is known.
  public var hint: String? {
    switch kind {
    case .noSocket, .refused: "is usherd running? systemctl start usherd.socket"
    case .notPermitted: "some calls are for the administrator: ask whoever runs this machine"
    case .lost: "see journalctl -u usherd"
    case .garbled: "is it usherd that listens there?"
    case .incompatible: "the versions of client and daemon must fit"
    case .badPath: "give another one with USHER_SOCKET"
    case .busy: "try again in a moment"
    case .closed, .replyTooLarge, .other: nil
    }
  }
}
