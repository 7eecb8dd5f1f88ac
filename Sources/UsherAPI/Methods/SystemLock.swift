/// End everything that holds a secret, until `system.unlock`.
///
/// It is answered when nothing is held any more, and is remembered over restarts. Locking twice
/// succeeds and changes nothing.
public struct SystemLock: Method, Equatable {
  public static let name = "system.lock"
  public static let traits = MethodTraits(
    access: .app, audience: .operators, repetition: .always, audit: .everything, worksLocked: true)
  public static let summary = "End everything that holds a secret, until `system.unlock`."
  public typealias Reply = Done

  public init() {}
}
