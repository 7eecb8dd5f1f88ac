import JSONRPC
public import UsherCore

/// Returns a valid access token, and refreshes it if needed. Concurrent calls for the same token
/// share one refresh.
public struct TokenGet: Method, Equatable {
  public static let name = "token.get"
  public static let traits = MethodTraits(
    access: .app, repetition: .without(["forceRefresh", "challenge"]),
    audit: .everythingAggregated,
    isConfirmable: true, handsOutSecret: true, readsSharedAccounts: true)
  public static let subject = Subject<Self>.token(
    { ($0.account, $0.provider) },
    scope: { $0.field == .idToken ? "openid" : $0.scope }, audience: \.audience,
    kind: { $0.field == .idToken ? Field.idToken.rawValue : nil })
  public static let summary =
    "Returns a valid access token or ID token, and refreshes it if needed."
  public static let discussion = """
    Concurrent calls for the same token share one refresh. Without an account the call fails with \
    `interaction_required`, with a dead grant with `reauthentication_required`, and with a scope \
    beyond the grant with `consent_required`; each names in `next` the flow that resolves it.

    The ID token is a right of its own: a client rule allows it only by the kind `idToken`, as in \
    `token.get work/idToken`. Before it is returned, its signature and claims have been verified. \
    If the provider does not renew ID tokens with a refresh and the last one has expired, or the \
    call has `forceRefresh`, it fails with `reauthentication_required`.
    """

  /// The account whose token is returned; absent if ``provider`` identifies it.
  public var account: AccountID?
  /// The provider, as an alternative to ``account`` if the caller has only one account there. With
  /// several accounts the call fails with `invalid_params` and field `account`.
  public var provider: ProviderName?
  /// The token to return: the access token by default, or the ID token.
  public var field: Field?
  /// The scope of the token; default: the whole granted scope. A part of it gives `invalid_params`
  /// with field `scope`, unless the provider has `narrow_refresh` in its configuration: the request
  /// could narrow the grant for all programs. Not with the ID token.
  public var scope: String?
  /// The audience of the token: the service for which it is, such as `https://api.example.com`;
  /// default: what the provider issues without one. A grant has one token for each audience. If the
  /// grant does not include the audience, the call fails with `consent_required`. A provider whose
  /// configuration has no `audience_parameter` gives `invalid_params` with field `audience`. Not
  /// with the ID token.
  public var audience: String?
  /// How long the token must remain valid, in seconds; default 60, at most 86400.
  ///
  /// Two exceptions avoid a refresh at every call. If the token's whole lifetime is not longer than
  /// this, the token is returned during the first half of its lifetime. A new token is always
  /// returned during the first tenth of its lifetime, at most 10 seconds.
  public var minValidSeconds: Int?
  /// Whether to refresh the token even if it is valid; at most once in
  /// `limits.force_refresh_seconds` for each account.
  public var forceRefresh: Bool?
  /// The value of the header `WWW-Authenticate` with which a service has refused the token (RFC
  /// 6750 §3, RFC 9470 §3). The call returns a token that may help, or fails with the flow in
  /// `next` that does: for `invalid_token` the token is refreshed; for `insufficient_scope` and
  /// `insufficient_user_authentication` the user must sign in for what the service demands, unless
  /// the account has it by now. Not with ``field``, ``scope`` or ``forceRefresh``. The daemon does
  /// not fetch the `resource_metadata` of the header: `usherctl login --resource` does.
  public var challenge: String?

  /// The token that a call returns.
  public enum Field: String, Codable, Sendable, Equatable, CaseIterable {
    /// The access token, for calls to the provider's API.
    case accessToken
    /// The ID token (OIDC Core §2), which tells another service who the user is.
    case idToken
  }

  public init(
    account: AccountID? = nil, provider: ProviderName? = nil, field: Field? = nil,
    scope: String? = nil, audience: String? = nil, minValidSeconds: Int? = nil,
    forceRefresh: Bool? = nil, challenge: String? = nil
  ) {
    self.account = account
    self.provider = provider
    self.field = field
    self.scope = scope
    self.audience = audience
    self.minValidSeconds = minValidSeconds
    self.forceRefresh = forceRefresh
    self.challenge = challenge
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The access token. It is a secret. Absent if the ID token was requested.
    public var accessToken: WireSecret?
    /// The ID token. It is a secret. Present only if it was requested.
    public var idToken: WireSecret?
    /// The type of the token, such as `Bearer` (RFC 6749 §7.1). `N_A` for an ID token (RFC 8693
    /// §2.2.1).
    public var tokenType: String
    /// The expiry of the token; null if the provider did not report it.
    @Nullable public var expiresAt: Timestamp?
    /// The scope of the token, as words with spaces between them; empty if it has none.
    public var scope: String
    /// The account that the token belongs to.
    public var account: AccountID
    /// The provider's issuer identifier (OIDC Core §2); absent if the provider has none.
    public var issuer: String?

    public init(
      accessToken: WireSecret? = nil, idToken: WireSecret? = nil, tokenType: String,
      expiresAt: Timestamp? = nil, scope: String, account: AccountID, issuer: String? = nil
    ) {
      self.accessToken = accessToken
      self.idToken = idToken
      self.tokenType = tokenType
      self.expiresAt = expiresAt
      self.scope = scope
      self.account = account
      self.issuer = issuer
    }
  }

  public static let example = MethodExample(
    ["provider": "work", "minValidSeconds": 120],
    returns: [
      "accessToken": "eyJhbGciOi…", "tokenType": "Bearer", "expiresAt": .exampleTime,
      "scope": "openid email", "account": "acc_1", "issuer": "https://id.example.com",
    ])
}
