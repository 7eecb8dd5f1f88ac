/// Read the configuration and the credentials that systemd hands over again.
///
/// All of it comes into force, or nothing: where there are problems, what was in force before still
/// is. While the daemon is locked it holds for when it is unlocked.
public struct SystemReload: Method, Equatable {
  public static let name = "system.reload"
  public static let traits = MethodTraits(
    access: .admin, repetition: .always, audit: .everything, worksLocked: true)
  public static let summary =
    "Read the configuration again; all of it comes into force, or nothing."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable {
    /// In the order of the files; none where all is in force. Of very many only the first hundred, and
    /// how many more there are.
    public var problems: [SystemReload.Problem]

    public init(problems: [SystemReload.Problem]) { self.problems = problems }
  }

  /// What is wrong, and where.
  public struct Problem: Codable, Sendable, Equatable {
    /// Absent for what comes from no file.
    public var file: String?
    /// From 1; absent where the file as a whole is meant.
    public var line: Int?
    /// In characters, from 1; absent like the line.
    public var column: Int?
    /// The setting's path, such as `provider[0].endpoints.token`; absent where none is meant.
    public var key: String?
    /// For the person who mends it.
    public var message: String

    public init(
      file: String? = nil, line: Int? = nil, column: Int? = nil, key: String? = nil,
      message: String
    ) {
      self.file = file
      self.line = line
      self.column = column
      self.key = key
      self.message = message
    }
  }
}
