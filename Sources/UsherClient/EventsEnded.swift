/// The error with which a stream of events ends if its reader did not end it.
public struct EventsEnded: Error, Sendable, Equatable {
  public var cause: Cause
  /// The cursor to continue from: pass it as `since` to get the later events that the daemon still
  /// has.
  public var cursor: Int

  public enum Cause: Sendable, Equatable {
    /// Events came faster than they were read, so that a buffer of the client or of the daemon
    /// overflowed; or the daemon no longer has the events since the cursor.
    case overflow
    /// The connection to the daemon ended, so that later events cannot arrive.
    case disconnected
  }

  public init(_ cause: Cause, cursor: Int) {
    self.cause = cause
    self.cursor = cursor
  }
}

extension EventsEnded: CustomStringConvertible {
  public var description: String {
    switch cause {
    case .overflow: "events came faster than they were read"
    case .disconnected: "usherd closed the connection"
    }
  }
}
