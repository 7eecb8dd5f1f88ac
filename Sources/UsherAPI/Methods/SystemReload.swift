import JSONRPC

/// Reads the configuration and the credentials from systemd again.
///
/// Either everything is applied or nothing is: if there are problems, the previous configuration
/// stays active. In a locked daemon the new configuration takes full effect when it is unlocked.
public struct SystemReload: Method, Equatable {
  public static let name = "system.reload"
  public static let traits = MethodTraits(
    access: .admin, repetition: .always, audit: .everything, worksLocked: true)
  public static let subject = Subject<Self>.method
  public static let summary =
    "Reads the configuration again; either all of it is applied or nothing."
  public static let discussion = """
    Either everything is applied or nothing is: if there are problems, the previous configuration \
    stays active. In a locked daemon the new configuration takes full effect when it is unlocked.
    """

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The problems, in the order of the files; empty if the new configuration is active. Beyond
    /// 100 problems the last entry tells how many more there are.
    public var problems: [SystemReload.Problem]

    public init(problems: [SystemReload.Problem]) { self.problems = problems }
  }

  /// An error in the configuration, and its location.
  public struct Problem: Codable, Sendable, Equatable, SchemaDocumented {
    /// The file; absent if the problem is not in a file.
    public var file: String?
    /// The line, counted from 1; absent if the problem concerns the whole file.
    public var line: Int?
    /// The column in characters, counted from 1; absent if there is no line.
    public var column: Int?
    /// The path of the setting, such as `provider[0].endpoints.token`; absent if the problem
    /// concerns no setting.
    public var key: String?
    /// The problem as a sentence for the operator.
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

  public static let example = MethodExample([:], returns: ["problems": []])
}
