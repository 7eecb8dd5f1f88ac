public import JSONRPC

/// The rules as the daemon has them, in the order in which they are tried.
public struct PolicyList: Method, Equatable {
  public static let name = "policy.list"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let summary = "The rules, in the order in which they are tried."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable {
    public var rules: [PolicyList.Rule]
    /// Whose members may use what they own where no rule matches them.
    public var group: String

    public init(rules: [PolicyList.Rule], group: String) {
      self.rules = rules
      self.group = group
    }
  }

  public struct Rule: Codable, Sendable, Equatable {
    public var name: String
    /// Where it begins; absent for one of no file.
    public var file: String?
    /// From 1.
    public var line: Int?
    /// Its other keys as the configuration has them, without those that are at their default.
    public var settings: JSONValue

    public init(name: String, file: String? = nil, line: Int? = nil, settings: JSONValue) {
      self.name = name
      self.file = file
      self.line = line
      self.settings = settings
    }
  }
}
