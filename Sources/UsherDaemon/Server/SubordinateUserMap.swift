import Synchronization
import UsherStore
import UsherSystem

/// The subordinate ids of this machine's users as they were last read. One for the whole daemon.
final class SubordinateUserMap: Sendable {
  private let users = Mutex(SubordinateUsers())

  var current: SubordinateUsers { users.withLock { $0 } }

  func apply(_ users: SubordinateUsers) { self.users.withLock { $0 = users } }

  /// The user that a subordinate id belongs to; nil for an id that is in no range.
  func user(ofSubordinate uid: UInt32) -> UInt32? {
    users.withLock { $0.user(ofSubordinate: uid) }
  }
}

// Limits of a user count all its subordinate ids together.
extension SubordinateUsers {
  /// The owner whose limits count for another one; itself for what is not a subordinate id's.
  func payer(of owner: Owner) -> Owner {
    guard owner.uid != Owner.anyUser else { return owner }
    return Owner(realm: owner.realm, uid: self.owner(of: owner.uid), client: owner.client)
  }

  /// Whether both have the limits of one user.
  func shareLimits(_ one: LocalPerson, _ other: LocalPerson) -> Bool {
    one == other || one.realm == other.realm && owner(of: one.uid) == owner(of: other.uid)
  }
}
