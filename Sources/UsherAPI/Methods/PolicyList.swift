public import JSONRPC

/// Returns the rules that the daemon uses, in the order in which they are tried.
public struct PolicyList: Method, Equatable {
  public static let name = "policy.list"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let subject = Subject<Self>.method
  public static let summary =
    "Returns the rules of the policy, in the order in which they are tried."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The rules, in the order in which they are tried.
    public var rules: [PolicyList.Rule]
    /// The value of `access.group`: its members may use their own accounts and flows if no rule
    /// matches them.
    public var group: String

    public init(rules: [PolicyList.Rule], group: String) {
      self.rules = rules
      self.group = group
    }
  }

  public struct Rule: Codable, Sendable, Equatable, SchemaDocumented {
    /// The name of the rule.
    public var name: String
    /// The file in which the rule begins; absent if the rule is from no file.
    public var file: String?
    /// The line in which the rule begins, counted from 1; absent if the rule is from no file.
    public var line: Int?
    /// The rule's other settings, as in the configuration, without those that have their default.
    public var settings: JSONValue

    public init(name: String, file: String? = nil, line: Int? = nil, settings: JSONValue) {
      self.name = name
      self.file = file
      self.line = line
      self.settings = settings
    }
  }

  public static let example = MethodExample(
    [:],
    returns: [
      "rules": [
        [
          "name": "till", "file": "/etc/usherd/usherd.toml", "line": 12,
          "settings": ["methods": ["token.get"]],
        ]
      ], "group": "usher",
    ])
}
