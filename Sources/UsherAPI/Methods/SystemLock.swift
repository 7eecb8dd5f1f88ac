import JSONRPC

/// Locks the daemon: it wipes all secrets from memory, and refuses most methods until
/// `system.unlock`.
///
/// The reply is sent when no secret is in memory any more. The daemon stays locked over restarts.
/// Locking a locked daemon succeeds and changes nothing.
public struct SystemLock: Method, Equatable {
  public static let name = "system.lock"
  public static let traits = MethodTraits(
    access: .app, audience: .operators, repetition: .always, audit: .everything, worksLocked: true)
  public static let subject = Subject<Self>.method
  public static let summary = """
    Locks the daemon: it wipes all secrets from memory, and refuses most methods until \
    `system.unlock`.
    """
  public static let discussion = """
    The reply is sent when no secret is in memory any more. The daemon stays locked over restarts. \
    Locking a locked daemon succeeds and changes nothing.
    """

  public init() {}

  public static let example = MethodExample([:], returns: [:])
}
