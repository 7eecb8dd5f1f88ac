/// Take everything up again where `system.lock` has ended it.
///
/// Unlocking what is not locked succeeds and changes nothing.
public struct SystemUnlock: Method, Equatable {
  public static let name = "system.unlock"
  public static let traits = MethodTraits(
    access: .app, audience: .operators, audit: .everything, worksLocked: true)
  public static let summary = "Take everything up again where `system.lock` has ended it."
  public typealias Reply = Done

  /// That of the caller's user; a wrong one counts as a guess. Not needed on the admin socket.
  public var passcode: WireSecret?

  public init(passcode: WireSecret? = nil) { self.passcode = passcode }
}
