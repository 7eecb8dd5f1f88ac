import JSONRPC

/// Unlocks the daemon: it opens the database again and resumes its flows and timers.
///
/// Unlocking a daemon that is not locked succeeds and changes nothing.
public struct SystemUnlock: Method, Equatable {
  public static let name = "system.unlock"
  public static let traits = MethodTraits(
    access: .app, audience: .operators, audit: .everything, worksLocked: true)
  public static let subject = Subject<Self>.method
  public static let summary =
    "Unlocks the daemon: it opens the database again and resumes its flows and timers."
  public static let discussion =
    "Unlocking a daemon that is not locked succeeds and changes nothing."

  /// The passcode of the caller's user. A wrong one counts as a failed attempt. Not required on the
  /// admin socket.
  public var passcode: WireSecret?

  public init(passcode: WireSecret? = nil) { self.passcode = passcode }

  public static let example = MethodExample(["passcode": "493027"], returns: [:])
}
