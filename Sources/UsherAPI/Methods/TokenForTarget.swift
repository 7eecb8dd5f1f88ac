import JSONRPC
public import UsherCore

/// Returns the token for what a tool asks for, as the targets of the configuration say: for
/// programs that speak the tool's own protocol, such as a credential helper of git.
public struct TokenForTarget: Method, Equatable {
  public static let name = "token.forTarget"
  public static let traits = MethodTraits(
    access: .app, repetition: TokenGet.traits.repetition, audit: .everythingAggregated,
    isConfirmable: true, handsOutSecret: true, readsSharedAccounts: true, namesTarget: true)
  public static let subject = Subject<Self>.tokenForTarget { ($0.kind, $0.name) }
  public static let summary =
    "Returns the token of the account that a target of the configuration names."
  public static let discussion = """
    The first `[[target]]` of the configuration that matches `kind` and `name` says which account \
    answers, and with which token. The call then does the same as `token.get`, with the same errors. \
    If no target matches, it fails with `no_target`.

    A client rule allows it by the target: `token.forTarget git/https://git.example/*`. Such a rule \
    needs no right to `token.get`. The account is always one that the caller owns, or that another \
    client shares with it.
    """

  /// The contract by which the tool asks for a credential, such as `git` or `docker`.
  public var kind: String
  /// What the tool asks a credential for, such as `https://git.example/team/app.git`.
  public var name: String
  /// How long the token must remain valid, in seconds, as in `token.get`.
  public var minValidSeconds: Int?
  /// Whether to refresh the token even if it is valid, as in `token.get`: for a service that has
  /// just refused it.
  public var forceRefresh: Bool?
  /// The value of the header `WWW-Authenticate` with which a service has refused the token, as in
  /// `token.get`. Not with ``forceRefresh``, and not for a target with `scope` or an ID token.
  public var challenge: String?

  public init(
    kind: String, name: String, minValidSeconds: Int? = nil, forceRefresh: Bool? = nil,
    challenge: String? = nil
  ) {
    self.kind = kind
    self.name = name
    self.minValidSeconds = minValidSeconds
    self.forceRefresh = forceRefresh
    self.challenge = challenge
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The access token. It is a secret. Absent if the target names the ID token.
    public var accessToken: WireSecret?
    /// The ID token. It is a secret. Present only if the target names it.
    public var idToken: WireSecret?
    /// The type of the token, as in `token.get`.
    public var tokenType: String
    /// The expiry of the token; null if the provider did not report it.
    @Nullable public var expiresAt: Timestamp?
    /// The scope of the token, as words with spaces between them; empty if it has none.
    public var scope: String
    /// The account that the token belongs to.
    public var account: AccountID
    /// The provider's issuer identifier (OIDC Core §2); absent if the provider has none.
    public var issuer: String?
    /// The user name that the tool sends with the token; absent if the target names none.
    public var username: String?
    /// The pattern of the target that answered, such as `https://git.example/*`.
    public var match: String

    public init(
      accessToken: WireSecret? = nil, idToken: WireSecret? = nil, tokenType: String,
      expiresAt: Timestamp? = nil, scope: String, account: AccountID, issuer: String? = nil,
      username: String? = nil, match: String
    ) {
      self.accessToken = accessToken
      self.idToken = idToken
      self.tokenType = tokenType
      self.expiresAt = expiresAt
      self.scope = scope
      self.account = account
      self.issuer = issuer
      self.username = username
      self.match = match
    }
  }

  public static let example = MethodExample(
    ["kind": "git", "name": "https://git.example/team/app.git"],
    returns: [
      "accessToken": "eyJhbGciOi…", "tokenType": "Bearer", "expiresAt": .exampleTime,
      "scope": "read write", "account": "acc_1", "issuer": "https://id.example.com",
      "username": "oauth2", "match": "https://git.example/*",
    ])
}
