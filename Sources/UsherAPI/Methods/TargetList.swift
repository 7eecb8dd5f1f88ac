import JSONRPC
public import UsherCore

/// Returns the targets of the configuration that the caller may use.
public struct TargetList: Method, Equatable {
  public static let name = "target.list"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, permittedAs: TokenForTarget.name, namesTarget: true)
  public static let subject = Subject<Self>.method
  public static let summary = "Returns the targets of the configuration that the caller may use."
  public static let discussion = """
    The targets are in the order in which they are tried: the first one that matches what a tool \
    asks for answers. A target that the caller's client rules do not cover is left out. A client \
    rule that allows `token.forTarget` allows this method too, and no other pattern does.
    """

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The targets, in the order in which they are tried.
    public var targets: [TargetList.Entry]

    public init(targets: [TargetList.Entry]) { self.targets = targets }
  }

  /// A target of the configuration.
  public struct Entry: Codable, Sendable, Equatable, SchemaDocumented {
    /// The contract by which a tool asks for a credential, such as `git`.
    public var kind: String
    /// The pattern for what the tool asks for, such as `https://git.example/*`.
    public var match: String
    /// The provider at which the caller's account answers; absent if the target names an account.
    public var provider: ProviderName?
    /// The token that the target returns.
    public var field: TokenGet.Field
    /// The scope of the token; absent for the whole granted scope.
    public var scope: String?
    /// The audience of the token; absent for none.
    public var audience: String?
    /// The user name that the tool sends with the token; absent for none.
    public var username: String?

    public init(
      kind: String, match: String, provider: ProviderName? = nil, field: TokenGet.Field,
      scope: String? = nil, audience: String? = nil, username: String? = nil
    ) {
      self.kind = kind
      self.match = match
      self.provider = provider
      self.field = field
      self.scope = scope
      self.audience = audience
      self.username = username
    }
  }

  public static let example = MethodExample(
    [:], returns: ["targets": [.exampleTarget]])
}
