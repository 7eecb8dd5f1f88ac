import JSONRPC
public import UsherCore

/// Withdraws consents under which clients may see data of the caller's accounts.
///
/// Profile members that no remaining consent opens are deleted. A client that a rule names can
/// withdraw only its own consents; the consents of other clients are not found.
public struct ConsentRevoke: Method, Equatable {
  public static let name = "consent.revoke"
  public static let traits = MethodTraits(access: .app, audit: .everything)
  public static let subject = Subject<Self>.account { ($0.account, $0.provider) }
  public static let summary =
    "Withdraws consents under which clients may see data of the caller's accounts."
  public static let discussion = """
    Profile members that no remaining consent opens are deleted. A client that a rule names can \
    withdraw only its own consents; the consents of other clients are not found.
    """

  /// The account. If neither the account nor ``provider`` is given, the call fails with
  /// `invalid_params` and field `account`.
  public var account: AccountID?
  /// The provider, for all of the caller's accounts there.
  public var provider: ProviderName?
  /// The client whose consents are withdrawn; default: every client that the caller may act for.
  public var client: String?
  /// The grant that is withdrawn; default: all grants.
  public var grant: String?

  public init(
    account: AccountID? = nil, provider: ProviderName? = nil, client: String? = nil,
    grant: String? = nil
  ) {
    self.account = account
    self.provider = provider
    self.client = client
    self.grant = grant
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The number of withdrawn consents.
    public var revoked: Int

    public init(revoked: Int) { self.revoked = revoked }
  }

  public static let example = MethodExample(
    ["account": "acc_1", "client": "till"], returns: ["revoked": 2])
}
