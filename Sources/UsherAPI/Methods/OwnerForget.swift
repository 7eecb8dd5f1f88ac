/// Forget all that is stored for a uid; tokens are revoked where the provider can do that.
///
/// For a user who was removed, and for a uid that was given to another person: accounts with their
/// tokens and consents, flows, the passcode, questions and answers. What belongs to a client
/// (`owner = "client"`) stays. `not_found` where nothing is stored for the uid.
public struct OwnerForget: Method, Equatable {
  public static let name = "owner.forget"
  public static let traits = MethodTraits(access: .admin, audit: .everything)
  public static let summary =
    "Forget all that is stored for a uid; tokens are revoked where the provider can do that."

  public var uid: UInt32

  public init(uid: UInt32) { self.uid = uid }

  public struct Reply: Codable, Sendable, Equatable {
    public var uid: UInt32
    /// How many accounts were wiped.
    public var accounts: Int
    /// Those of them whose tokens the provider has not revoked so far. It is asked again for a day
    /// where it could not be asked; otherwise they live until they expire.
    public var notRevoked: Int
    /// How many flows were cancelled or forgotten.
    public var flows: Int

    public init(uid: UInt32, accounts: Int, notRevoked: Int, flows: Int) {
      self.uid = uid
      self.accounts = accounts
      self.notRevoked = notRevoked
      self.flows = flows
    }
  }
}
