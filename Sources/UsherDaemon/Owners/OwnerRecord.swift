import UsherCore
import UsherStore
import UsherSystem

/// The recorded user name of a uid, with later answers of the user database, by which usherd
/// detects that a uid was given to another person.
///
/// Only the name is compared. Nothing else in the user database both stays the same for one person
/// and differs between persons: a home directory can move, and a user may change the full name.
struct OwnerRecord: Codable, Sendable, Equatable {
  /// How long a recorded name is accepted without confirmation by the user database. The reason for
  /// a limit: an unreachable directory service looks like one that no longer knows the uid.
  static let unconfirmedGracePeriod = Duration.seconds(7 * 86_400)
  /// The minimum time between two confirmations that are stored, to save writes.
  private static let confirmationInterval = Duration.seconds(86_400)

  /// The recorded name; nil if the uid had no name.
  private(set) var name: String?
  /// Whether the uid was in `/etc/passwd`, which can always be read.
  private(set) var isLocal: Bool
  let recordedAt: Timestamp
  private(set) var confirmedAt: Timestamp
  private(set) var other: Other?
  /// True from `owner.forget` until everything is deleted, even if the daemon is restarted.
  private(set) var isBeingForgotten: Bool?

  /// A user name, other than the recorded one, that the user database returned for the uid.
  struct Other: Codable, Sendable, Equatable {
    let name: String
    let at: Timestamp
  }

  /// The decision about calls from the uid.
  enum Verdict: Sendable, Equatable {
    /// The uid still belongs to the recorded user, as far as the user database could last confirm.
    case same
    case other(name: String)
    /// The uid was in `/etc/passwd`, and no source of the user database contains it now.
    case gone
    /// The user database does not answer, and the recorded name is not accepted without it.
    case unconfirmed
    /// The user database does not answer, and no name is recorded.
    case unknown
  }

  /// Creates the first record of a uid.
  ///
  /// - Parameter name: The user name; nil if the uid has none.
  init(name: String?, isLocal: Bool, at now: Timestamp) {
    self.name = name
    self.isLocal = isLocal
    recordedAt = now
    confirmedAt = now
  }

  /// Creates a withheld record for a uid whose record was deleted by something other than usherd,
  /// so that an operator must decide.
  ///
  /// Returns nil if the look-up of the uid failed.
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

  /// Whether usherd refuses access to the user's stored objects until an operator decides.
  var isWithheld: Bool { other != nil || isBeingForgotten == true }

  /// Records that an operator has begun to delete the user's stored objects.
  mutating func beginForgetting() { isBeingForgotten = true }

  /// The verdict when the record was last written: whether the uid still had its recorded name.
  var lastVerdict: Verdict { other.map { .other(name: $0.name) } ?? .same }

  /// Whether another record differs at most in the time of the last confirmation, so that writing
  /// it is not urgent.
  func isSame(as other: OwnerRecord) -> Bool {
    var copy = self
    copy.confirmedAt = other.confirmedAt
    return copy == other
  }

  /// Compares the name that the user database now returns for the uid with the recorded name,
  /// records the answer, and returns the decision.
  ///
  /// - Parameter isLocal: Whether `/etc/passwd` contains the uid now.
  mutating func compare(
    with found: UserLookup, isLocal isLocalNow: Bool, at now: Timestamp
  ) -> Verdict {
    switch found {
    case .named(let present):
      // While its directory service is unreachable, a uid has no name, so the first name from there
      // is recorded. A name from `/etc/passwd` is not: it was given to the uid later.
      if name == nil, other == nil, !isLocalNow { name = present }
      guard let name, present.hasSameBytes(as: name) else {
        if other?.name.hasSameBytes(as: present) != true {
          other = Other(name: present, at: now)
        }
        return .other(name: present)
      }
      other = nil
      if now - confirmedAt >= Self.confirmationInterval || now < confirmedAt { confirmedAt = now }
      return .same
    case .nameless, .failed:
      if other != nil { return lastVerdict }
      guard name != nil else { return found == .nameless ? .same : .unconfirmed }
      // `/etc/passwd` can always be read, so an attacker gains nothing by making a look-up fail.
      guard !isLocal else { return found == .nameless ? .gone : .unconfirmed }
      return now - confirmedAt < Self.unconfirmedGracePeriod ? .same : .unconfirmed
    }
  }
}

extension OwnerRecord {
  /// Creates the first record of a uid from a look-up; nil if the look-up failed.
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
  /// Returns the error for a caller with this uid; nil if the caller is the recorded user.
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
  /// The uids that systemd assigns to services with `DynamicUser=`, and later reuses for other
  /// services (systemd documentation, "Users, Groups, UIDs and GIDs on systemd Systems").
  private static let transientUsers = UInt32(61_184)...65_519

  /// Whether systemd assigns the uid to one service after the other.
  static func isTransient(_ uid: UInt32) -> Bool { transientUsers.contains(uid) }

  /// Checks that the owner may have accounts.
  ///
  /// - Throws: `permissionDenied` for a uid that systemd may later give to another service, which
  ///   would then get the accounts.
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
