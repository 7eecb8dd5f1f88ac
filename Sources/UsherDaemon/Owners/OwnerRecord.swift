import UsherCore
import UsherStore
import UsherSystem

/// The recorded user name of a uid, and later answers of the user database.
///
/// Only the name is compared. Nothing else in the user database both stays the same for one person
/// and differs between persons: a home directory can move, and a user may change the full name.
struct OwnerRecord: Codable, Sendable, Equatable {
  /// How long a name stays valid without confirmation by the user database. An unreachable
  /// directory service cannot be told from one that does not know the uid.
  static let holdsUnconfirmed = Duration.seconds(7 * 86_400)
  /// The minimum time between two stored confirmations.
  private static let confirmedEvery = Duration.seconds(86_400)

  /// Nil if the uid had no name.
  private(set) var name: String?
  /// Whether the uid was in the local password file, which can always be read.
  private(set) var isLocal: Bool
  let recordedAt: Timestamp
  private(set) var confirmedAt: Timestamp
  private(set) var other: Other?
  /// True from the operator's `owner.forget` until everything is deleted, also over a restart.
  private(set) var isBeingForgotten: Bool?

  /// A different name that the user database returned for the uid.
  struct Other: Codable, Sendable, Equatable {
    let name: String
    let at: Timestamp
  }

  /// The decision about calls from the uid.
  enum Verdict: Sendable, Equatable {
    /// The same user, as far as the user database could last confirm.
    case same
    case other(name: String)
    /// The uid was in the local password file, and no source has it now.
    case gone
    /// The user database does not answer, and the recorded name is not valid without it.
    case unconfirmed
    /// The user database does not answer, and no name is recorded.
    case unknown
  }

  /// - Parameter name: Nil if the uid has no name.
  init(name: String?, isLocal: Bool, at now: Timestamp) {
    self.name = name
    self.isLocal = isLocal
    recordedAt = now
    confirmedAt = now
  }

  /// Creates a withheld record for a uid whose record was not deleted by usherd; an operator must
  /// decide.
  ///
  /// Returns nil if the look-up failed.
  init?(lostTo found: UserLookup, at now: Timestamp) {
    let present: String
    switch found {
    case .named(let name): present = name
    case .nameless: present = "(no name)"
    case .failed: return nil
    }
    self.init(name: nil, isLocal: false, at: now)
    other = Other(name: present, at: now)
  }

  /// Whether nobody may use the user's stored objects until an operator decides.
  var isWithheld: Bool { other != nil || isBeingForgotten == true }

  /// Records that an operator has begun to delete the user's property.
  mutating func beginForgetting() { isBeingForgotten = true }

  /// Whether the uid still had its recorded name when the record was written.
  var lastVerdict: Verdict { other.map { .other(name: $0.name) } ?? .same }

  /// Whether another record differs at most in the time of the last confirmation.
  func isSame(as other: OwnerRecord) -> Bool {
    var copy = self
    copy.confirmedAt = other.confirmedAt
    return copy == other
  }

  /// Compares the user whom the user database names for the uid now with the user who owns the
  /// stored data, records the answer, and returns whether they are the same.
  ///
  /// - Parameter isLocal: Whether the local password file contains the uid now.
  mutating func compare(
    with found: UserLookup, isLocal isLocalNow: Bool, at now: Timestamp
  ) -> Verdict {
    switch found {
    case .named(let present):
      // A uid of an unreachable directory service has no name at first. A name from the password
      // file is different: it was given to the uid later.
      if name == nil, other == nil, !isLocalNow { name = present }
      guard let name, present.hasSameBytes(as: name) else {
        if other?.name.hasSameBytes(as: present) != true {
          other = Other(name: present, at: now)
        }
        return .other(name: present)
      }
      other = nil
      if now - confirmedAt >= Self.confirmedEvery || now < confirmedAt { confirmedAt = now }
      return .same
    case .nameless, .failed:
      if other != nil { return lastVerdict }
      guard name != nil else { return found == .nameless ? .same : .unconfirmed }
      // The password file can always be read, so forcing a look-up to fail gains an attacker
      // nothing.
      guard !isLocal else { return found == .nameless ? .gone : .unconfirmed }
      return now - confirmedAt < Self.holdsUnconfirmed ? .same : .unconfirmed
    }
  }
}

extension OwnerRecord {
  /// Returns nil if the look-up failed.
  init?(_ found: UserLookup, isLocal: Bool, at now: Timestamp) {
    switch found {
    case .named(let name): self.init(name: name, isLocal: isLocal, at: now)
    case .nameless: self.init(name: nil, isLocal: false, at: now)
    case .failed: return nil
    }
  }
}

extension OwnerRow {
  init(_ record: OwnerRecord, of person: LocalPerson) throws(UsherError) {
    self.init(
      realm: person.realm, uid: person.uid, isWithheld: record.isWithheld,
      payload: try SealedPayload(encoding: record))
  }
}

extension OwnerRecord.Verdict {
  /// Returns the error for a caller with this uid; nil if the caller is the owner.
  func refusal(of uid: UInt32) -> UsherError? {
    let advice =
      "the operator must run usherctl owner accept \(uid) if it is the same person, "
      + "or usherctl owner forget \(uid) if not"
    switch self {
    case .same: return nil
    case .other(let name):
      return UsherError(
        .permissionDenied,
        "user \(name) (uid \(uid)): the data stored for this uid is another user's; \(advice)")
    case .gone:
      return UsherError(
        .permissionDenied,
        "uid \(uid) has no user name any more, but the data stored for it is a user's; \(advice)")
    case .unknown:
      return UsherError(
        .permissionDenied, "uid \(uid): the user database does not answer who this is; try again",
        detail: .init(retryable: true))
    case .unconfirmed:
      return UsherError(
        .permissionDenied,
        "uid \(uid): the user database does not confirm this user; try again, or ask the operator",
        detail: .init(retryable: true))
    }
  }
}

extension Owner {
  /// systemd gives these uids to services with `DynamicUser=`, and reuses each for another service
  /// later (Users, Groups, UIDs and GIDs on systemd systems).
  private static let transientUsers = UInt32(61_184)...65_519

  /// Whether systemd reuses a uid for other services.
  static func isTransient(_ uid: UInt32) -> Bool { transientUsers.contains(uid) }

  /// Checks that the owner may have accounts.
  ///
  /// - Throws: `permissionDenied` for a uid whose accounts another service would get later.
  func checkMayHaveAccounts() throws(UsherError) {
    guard client == nil, Self.isTransient(uid) else { return }
    throw UsherError(
      .permissionDenied,
      "user \(uid) is a temporary user of systemd, and its accounts would later be another "
        + "service's: give this program a [[client]] rule with owner = \"client\"")
  }
}

extension LocalPerson {
  init(_ owner: Owner) { self.init(realm: owner.realm, uid: owner.uid) }

  init(_ row: OwnerRow) { self.init(realm: row.realm, uid: row.uid) }

  /// The owner of this user's accounts.
  var owner: Owner { Owner(realm: realm, uid: uid) }
}
