import JSONRPC

/// Sets the passcode with which a user authenticates at this machine.
public struct LocalAuthSetPasscode: Method, Equatable {
  public static let name = "localAuth.setPasscode"
  public static let traits = MethodTraits(access: .app, audit: .everything)
  public static let subject = Subject<Self>.method
  public static let summary = "Sets the passcode of the caller's user on this machine."

  /// The present passcode. It is required if the user has one, except on the admin socket. A wrong
  /// value counts as a failed attempt.
  public var old: WireSecret?
  /// The new passcode: 4 to 128 characters, not all of them blank.
  public var new: WireSecret
  /// The user; default: the caller's. Another user is permitted only on the admin socket.
  public var uid: UInt32?

  public init(old: WireSecret? = nil, new: WireSecret, uid: UInt32? = nil) {
    self.old = old
    self.new = new
    self.uid = uid
  }

  public static let example = MethodExample(["new": "493027"], returns: [:])
}
