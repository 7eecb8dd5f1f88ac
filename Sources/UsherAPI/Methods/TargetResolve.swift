import JSONRPC
public import UsherCore

/// Tells which target and account would answer a tool, and whether the caller would get the token,
/// without getting it.
public struct TargetResolve: Method, Equatable {
  public static let name = "target.resolve"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, permittedAs: TokenForTarget.name, namesTarget: true)
  public static let subject = Subject<Self>.target { ($0.kind, $0.name) }
  public static let summary =
    "Tells which target and account would answer a tool, without getting the token."
  public static let discussion = """
    Asks no provider and no person. If no target matches, the call fails with `no_target`. A client \
    rule that allows `token.forTarget` for what the tool asks for allows this method too, and no \
    other pattern does.
    """

  /// The contract by which the tool asks for a credential, such as `git` or `docker`.
  public var kind: String
  /// What the tool asks a credential for, such as `https://git.example/team/app.git`.
  public var name: String

  public init(kind: String, name: String) {
    self.kind = kind
    self.name = name
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The target that answers.
    public var target: TargetList.Entry
    /// The provider of the account that answers; absent if there is no such account and the target
    /// names none.
    public var provider: ProviderName?
    /// The account that answers; absent if there is no such account of the caller.
    public var account: AccountID?
    /// Whether the client rules and the configuration let the caller have the token. The grant may
    /// still turn out to be dead.
    public var allowed: Bool
    /// What must hold before the token is returned, and the limits on it; absent if the call is
    /// not allowed.
    public var conditions: PolicyCheck.Conditions?
    /// The reason of the error that `token.forTarget` returns; absent if the call is allowed.
    public var reason: String?
    /// The message of that error, for people.
    public var message: String?
    /// The call that resolves the error; absent if there is none.
    public var next: ErrorData.Next?

    public init(
      target: TargetList.Entry, provider: ProviderName? = nil, account: AccountID? = nil,
      allowed: Bool, conditions: PolicyCheck.Conditions? = nil, reason: String? = nil,
      message: String? = nil, next: ErrorData.Next? = nil
    ) {
      self.target = target
      self.provider = provider
      self.account = account
      self.allowed = allowed
      self.conditions = conditions
      self.reason = reason
      self.message = message
      self.next = next
    }
  }

  public static let example = MethodExample(
    ["kind": "git", "name": "https://git.example/team/app.git"],
    returns: [
      "target": .exampleTarget, "provider": "work", "account": "acc_1", "allowed": true,
      "conditions": ["confirmation": false],
    ])
}
