import JSONRPC

/// Writes a consistent copy of the whole database, for `usherctl backup`.
///
/// The copy is encrypted like the database and is written to the same directory, from which
/// `usherctl` moves it. The daemon removes a leftover copy when it starts; a later call removes
/// copies that are older than an hour. Only one copy is made at a time; other calls fail with
/// `overloaded`.
public struct SystemBackup: Method, Equatable {
  public static let name = "system.backup"
  public static let traits = MethodTraits(access: .admin, audit: .everything)
  public static let subject = Subject<Self>.method
  public static let summary =
    "Writes a consistent copy of the whole database, for `usherctl backup`."
  public static let discussion = """
    The copy is encrypted like the database and is written to the same directory, from which a \
    program with access to the directory moves it. The daemon removes a leftover copy when it \
    starts; a later call removes copies that are older than an hour. Only one copy is made at a \
    time; other calls fail with `overloaded`.
    """

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The path of the copy of the database.
    public var path: String
    /// The size of the copy in bytes.
    public var bytes: Int

    public init(path: String, bytes: Int) {
      self.path = path
      self.bytes = bytes
    }
  }

  public static let example = MethodExample(
    [:], returns: ["path": "/var/lib/usherd/copy-1.db", "bytes": 1_048_576])
}
