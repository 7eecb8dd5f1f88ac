/// Why a stream of events ended though nobody ended it.
public struct EventsEnded: Error, Sendable, Equatable {
  public var cause: Cause
  /// Ask again with `since` this cursor for what is still remembered.
  public var cursor: Int

  public enum Cause: Sendable, Equatable {
    /// More happened than was read, here or in the daemon.
    case overflow
    /// The connection ended.
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
