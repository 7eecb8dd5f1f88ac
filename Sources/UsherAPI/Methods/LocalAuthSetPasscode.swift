/// Set the caller's passcode on this machine.
public struct LocalAuthSetPasscode: Method, Equatable {
  public static let name = "localAuth.setPasscode"
  public static let traits = MethodTraits(access: .app, audit: .everything)
  public static let summary = "Set the caller's passcode on this machine."
  public typealias Reply = Done

  /// Needed where there is one: a wrong one counts as a guess. On the admin socket it may be left
  /// out.
  public var old: WireSecret?
  /// 4 to 128 characters, not all of them blank.
  public var new: WireSecret
  /// Another user's, on the admin socket only.
  public var uid: UInt32?

  public init(old: WireSecret? = nil, new: WireSecret, uid: UInt32? = nil) {
    self.old = old
    self.new = new
    self.uid = uid
  }
}
