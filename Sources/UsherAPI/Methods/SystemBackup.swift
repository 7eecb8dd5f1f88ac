/// Write a whole copy of the database, as of one moment, for `usherctl backup`.
///
/// The copy is sealed as the database is and lies beside it, for whoever may read it there to take
/// and remove. One that nobody takes is removed when the daemon starts, and by a later call after an
/// hour. One is made at a time: others are `overloaded` meanwhile.
public struct SystemBackup: Method, Equatable {
  public static let name = "system.backup"
  public static let traits = MethodTraits(access: .admin, audit: .everything)
  public static let summary = "Write a whole copy of the database, as of one moment."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable {
    /// Where it is.
    public var path: String
    public var bytes: Int

    public init(path: String, bytes: Int) {
      self.path = path
      self.bytes = bytes
    }
  }
}
