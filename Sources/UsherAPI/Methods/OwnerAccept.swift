import JSONRPC

/// Accepts the user that now has a uid as the owner of everything that is stored for the uid.
///
/// The method is for a user that was renamed. Fails with `not_found` if nothing is stored for the
/// uid.
public struct OwnerAccept: Method, Equatable {
  public static let name = "owner.accept"
  public static let traits = MethodTraits(access: .admin, audit: .everything)
  public static let subject = Subject<Self>.owner(\.uid)
  public static let summary =
    "Accepts the user that a uid has now as the owner of everything that is stored for the uid."
  public static let discussion =
    "Meant for a user that was renamed. Fails with `not_found` if nothing is stored for the uid."

  /// The uid.
  public var uid: UInt32

  public init(uid: UInt32) { self.uid = uid }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The uid.
    public var uid: UInt32
    /// The user's name; null if the uid has none.
    @Nullable public var user: String?

    public init(uid: UInt32, user: String?) {
      self.uid = uid
      self.user = user
    }
  }

  public static let example = MethodExample(["uid": 1000], returns: ["uid": 1000, "user": "ada"])
}
