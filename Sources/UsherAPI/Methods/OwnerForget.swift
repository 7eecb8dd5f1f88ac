import JSONRPC

/// Deletes everything that is stored for a uid, and revokes the tokens if the providers support it.
///
/// The method is for a user that was removed, and for a uid that was reassigned to another person.
/// Deletes accounts with their tokens and consents, flows, the passcode, questions and answers.
/// Objects that are owned by a client (`owner = "client"`) stay. Fails with `not_found` if nothing
/// is stored for the uid.
public struct OwnerForget: Method, Equatable {
  public static let name = "owner.forget"
  public static let traits = MethodTraits(access: .admin, audit: .everything)
  public static let subject = Subject<Self>.owner(\.uid)
  public static let summary = """
    Deletes everything that is stored for a uid, and revokes the tokens if the providers support \
    it.
    """
  public static let discussion = """
    Meant for a user that was removed, and for a uid that was reassigned to another person. \
    Deletes accounts with their tokens and consents, flows, the passcode, questions and answers. \
    Objects that are owned by a client (`owner = "client"`) stay. Fails with `not_found` if \
    nothing is stored for the uid.
    """

  /// The uid.
  public var uid: UInt32

  public init(uid: UInt32) { self.uid = uid }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The uid.
    public var uid: UInt32
    /// The number of deleted accounts.
    public var accounts: Int
    /// The number of the deleted accounts whose tokens the provider has not revoked so far. If the
    /// provider was unreachable, the daemon retries for a day; otherwise the tokens live until they
    /// expire.
    public var notRevoked: Int
    /// The number of deleted flows.
    public var flows: Int

    public init(uid: UInt32, accounts: Int, notRevoked: Int, flows: Int) {
      self.uid = uid
      self.accounts = accounts
      self.notRevoked = notRevoked
      self.flows = flows
    }
  }

  public static let example = MethodExample(
    ["uid": 1000], returns: ["uid": 1000, "accounts": 2, "notRevoked": 0, "flows": 1])
}
