/// Make a recovery key, which opens the database where the master key is gone.
///
/// This is the only time it is shown: the daemon keeps the data key wrapped by it and no more.
public struct KeyCreateRecovery: Method, Equatable {
  public static let name = "key.createRecovery"
  public static let traits = MethodTraits(access: .admin, audit: .everything)
  public static let summary = "Make a recovery key, which is shown this once."

  /// Default: `conflict` where there is one. With true the one before opens nothing any more but
  /// the copies that were made in its time.
  public var replace: Bool?

  public init(replace: Bool? = nil) { self.replace = replace }

  public struct Reply: Codable, Sendable, Equatable {
    /// Eight groups of seven characters, hyphens between them.
    public var recoveryKey: WireSecret

    public init(recoveryKey: WireSecret) { self.recoveryKey = recoveryKey }
  }
}
