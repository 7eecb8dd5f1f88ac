public import UsherCore

/// The users who have called, or own something stored, and whether their uids are still theirs.
///
/// The user database is asked for each of them, as far as it answers.
public struct OwnerList: Method, Equatable {
  public static let name = "owner.list"
  public static let traits = MethodTraits(access: .admin)
  public static let summary =
    "The users who have called, or own something stored, and whether their uids are still theirs."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable {
    /// By their uids.
    public var owners: [OwnerList.Entry]

    public init(owners: [OwnerList.Entry]) { self.owners = owners }
  }

  public struct Entry: Codable, Sendable, Equatable {
    public var uid: UInt32
    /// The name that the uid had when it first came to own something; null where it had none.
    @Nullable public var user: String?
    public var recordedAt: Timestamp
    public var state: State
    /// The name that the uid has instead.
    public var now: String?
    /// When that was first seen.
    public var changedAt: Timestamp?

    public enum State: String, Codable, Sendable, CaseIterable {
      /// The uid is that user's, or was when that could last be told.
      case same
      /// The uid has another name: what is stored for it is withheld.
      case changed
      /// The uid has no name any more: what is stored for it is withheld.
      case gone
      /// The user database does not confirm the name: what is stored is withheld until it does.
      case unconfirmed
      /// `owner.forget` has begun and has not come to its end: it is to be repeated. Until then what is
      /// stored is withheld.
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
}
