import JSONRPC
public import UsherCore

/// Returns an access token that is bound to a key of the daemon, with a proof for one request to a
/// service (DPoP, RFC 9449). The key never leaves the daemon.
public struct TokenProof: Method, Equatable {
  public static let name = "token.proof"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, audit: .everythingAggregated, isConfirmable: true,
    handsOutSecret: true, readsSharedAccounts: true, permittedAs: TokenGet.name)
  public static let subject = Subject<Self>.token(
    { ($0.account, $0.provider) }, scope: \.scope, audience: \.audience, kind: { _ in nil })
  public static let summary =
    "Returns a DPoP-bound access token with the proof for one request to a service (RFC 9449)."
  public static let discussion = """
    For tokens whose `tokenType` is `DPoP`: at a provider with `dpop = true`. The program sends the \
    token as `Authorization: DPoP …` and the proof in the header `DPoP`. Each request needs a proof \
    of its own, because a service accepts a proof once, for a short time, and only for the method \
    and URL in it.

    If the service answers 401 with the error `use_dpop_nonce`, the program asks for another proof \
    with the value of the header `DPoP-Nonce` as `nonce`, and sends its request once more.

    A client rule that allows `token.get` allows this method too, and no other pattern does. The \
    errors are those of `token.get`. A token of another type gives `invalid_params`.
    """

  /// The account whose token is returned; absent if ``provider`` identifies it.
  public var account: AccountID?
  /// The provider, as an alternative to ``account`` if the caller has only one account there. With
  /// several accounts the call fails with `invalid_params` and field `account`.
  public var provider: ProviderName?
  /// The HTTP method of the request, such as `GET`, in the case in which it is sent.
  public var method: String
  /// The absolute URL of the request: https, or http if the host is a loopback host. Its query is
  /// not part of the proof.
  public var url: String
  /// The nonce that the service demands (RFC 9449 §9); default: none.
  public var nonce: String?
  /// The scope of the token, as in `token.get`.
  public var scope: String?
  /// The audience of the token, as in `token.get`.
  public var audience: String?

  public init(
    account: AccountID? = nil, provider: ProviderName? = nil, method: String, url: String,
    nonce: String? = nil, scope: String? = nil, audience: String? = nil
  ) {
    self.account = account
    self.provider = provider
    self.method = method
    self.url = url
    self.nonce = nonce
    self.scope = scope
    self.audience = audience
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The proof, for the header `DPoP`. It is a secret.
    public var proof: WireSecret
    /// The access token, for which the proof is. It is a secret.
    public var accessToken: WireSecret
    /// The type of the token: `DPoP`.
    public var tokenType: String
    /// The expiry of the token; null if the provider did not report it.
    @Nullable public var expiresAt: Timestamp?
    /// The account that the token belongs to.
    public var account: AccountID

    public init(
      proof: WireSecret, accessToken: WireSecret, tokenType: String, expiresAt: Timestamp? = nil,
      account: AccountID
    ) {
      self.proof = proof
      self.accessToken = accessToken
      self.tokenType = tokenType
      self.expiresAt = expiresAt
      self.account = account
    }
  }

  public static let example = MethodExample(
    ["provider": "work", "method": "GET", "url": "https://api.example.com/orders"],
    returns: [
      "proof": "eyJ0eXAiOi…", "accessToken": "eyJhbGciOi…", "tokenType": "DPoP",
      "expiresAt": .exampleTime, "account": "acc_1",
    ])
}
