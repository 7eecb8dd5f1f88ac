import JSONRPC
public import UsherCore

/// Returns the users that have called or own stored objects, and whether each still has its uid.
///
/// Each user is compared with the user database, as far as the database answers.
public struct OwnerList: Method, Equatable {
  public static let name = "owner.list"
  public static let traits = MethodTraits(access: .admin)
  public static let subject = Subject<Self>.method
  public static let summary =
    "List the users who called or own stored data, and whether they still have their uids."
  public static let discussion =
    "Each user is compared with the user database, as far as the database answers."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The users, in the order of their uids.
    public var owners: [OwnerList.Entry]

    public init(owners: [OwnerList.Entry]) { self.owners = owners }
  }

  public struct Entry: Codable, Sendable, Equatable, SchemaDocumented {
    /// The uid.
    public var uid: UInt32
    /// The name of the user when the daemon recorded it; null if the uid had no name.
    @Nullable public var user: String?
    /// The time at which the daemon recorded the name.
    public var recordedAt: Timestamp
    /// Whether the uid still has its recorded user: `same`, `changed` (another name), `gone` (no
    /// user), `unconfirmed` (the user database has not answered yet) or `beingForgotten` (repeat
    /// `owner.forget`). In all states but `same` the stored objects are withheld.
    public var state: State
    /// The other name that the uid has now; absent if it has none.
    public var now: String?
    /// The time at which the daemon first saw that the uid has another name.
    public var changedAt: Timestamp?

    /// Whether a uid still has its recorded user. In all states but `same`, the objects that are
    /// stored for the uid are withheld.
    public enum State: String, Codable, Sendable, CaseIterable {
      /// The uid has the recorded user, or had it when the user database last answered.
      case same
      /// The uid has a user with another name than the recorded one.
      case changed
      /// The uid has no user any more.
      case gone
      /// The user database has not confirmed the user yet.
      case unconfirmed
      /// A call of `owner.forget` has begun and not finished; the operator must repeat it.
      case beingForgotten
    }

    public init(
      uid: UInt32, user: String?, recordedAt: Timestamp, state: State, now: String? = nil,
      changedAt: Timestamp? = nil
    ) {
      self.uid = uid
      self.user = user
      self.recordedAt = recordedAt
      self.state = state
      self.now = now
      self.changedAt = changedAt
    }
  }

  public static let example = MethodExample(
    [:],
    returns: [
      "owners": [["uid": 1000, "user": "ada", "recordedAt": .exampleTime, "state": "same"]]
    ])
}
