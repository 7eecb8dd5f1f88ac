import JSONRPC

/// Creates a recovery key, which opens the database if the master key is lost.
///
/// The reply is the only time at which the key is shown: the daemon does not store it, only the
/// data key that is encrypted with it.
public struct KeyCreateRecovery: Method, Equatable {
  public static let name = "key.createRecovery"
  public static let traits = MethodTraits(access: .admin, audit: .everything)
  public static let subject = Subject<Self>.method
  public static let summary =
    "Creates a recovery key, which opens the database if the master key is lost."
  public static let discussion = """
    The reply is the only time at which the key is shown: the daemon does not store it, only the \
    data key that is encrypted with it.
    """

  /// Whether to replace an existing recovery key; default false: the call fails with `conflict` if
  /// there is one. A replaced key still opens the copies of the database that were made before.
  public var replace: Bool?

  public init(replace: Bool? = nil) { self.replace = replace }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The key, as eight groups of seven characters with hyphens between them.
    public var recoveryKey: WireSecret

    public init(recoveryKey: WireSecret) { self.recoveryKey = recoveryKey }
  }

  public static let example = MethodExample(
    [:],
    returns: ["recoveryKey": "AAAAAAA-BBBBBBB-CCCCCCC-DDDDDDD-EEEEEEE-FFFFFFF-GGGGGGG-HHHHHHH"])
}
