import UsherCore
import UsherStore
import UsherSystem

/// The recorded name of a uid, and the answers that the user database has given since.
///
/// Only the name is compared. Nothing else that the user database tells is both stable and another's
/// for another person: a home directory moves, and the person may change the full name.
struct OwnerRecord: Codable, Sendable, Equatable {
  /// How long a name holds that the user database no longer confirms. A directory that cannot be
  /// reached looks like one that does not know the uid.
  static let holdsUnconfirmed = Duration.seconds(7 * 86_400)
  /// How often a confirmation is written down.
  private static let confirmedEvery = Duration.seconds(86_400)

  /// Nil where the uid had no name.
  private(set) var name: String?
  /// Whether the local password file had the uid, which can always be read.
  private(set) var isLocal: Bool
  let recordedAt: Timestamp
  private(set) var confirmedAt: Timestamp
  private(set) var other: Other?
  /// True from the operator's `owner.forget` until everything is wiped, also over a restart between.
  private(set) var isBeingForgotten: Bool?

  /// The name that the uid had instead.
  struct Other: Codable, Sendable, Equatable {
    let name: String
    let at: Timestamp
  }

  /// The decision about calls by the uid.
  enum Verdict: Sendable, Equatable {
    /// It is the same user, or was when that could last be told.
    case same
    case other(name: String)
    /// The local password file had the uid, and no source has it now.
    case gone
    /// The user database does not answer, and the name does not hold without it.
    case unconfirmed
    /// The user database does not answer, and nobody is recorded.
    case unknown
  }

  /// - Parameter name: Nil where the uid has no name.
  init(name: String?, isLocal: Bool, at now: Timestamp) {
    self.name = name
    self.isLocal = isLocal
    recordedAt = now
    confirmedAt = now
  }

  /// The record of a uid whose record was deleted by something other than usherd: an operator decides.
  ///
  /// Nil where the look-up failed.
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

  /// Whether nothing of the user's is given or used until an operator decides.
  var isWithheld: Bool { other != nil || isBeingForgotten == true }

  /// The record of a user whose things an operator has begun to wipe.
  mutating func beginForgetting() { isBeingForgotten = true }

  /// What held when the record was written.
  var lastVerdict: Verdict { other.map { .other(name: $0.name) } ?? .same }

  /// Whether another record differs only in when the name was last confirmed.
  func isSame(as other: OwnerRecord) -> Bool {
    var copy = self
    copy.confirmedAt = other.confirmedAt
    return copy == other
  }

  /// Records what the user database says, and decides.
  ///
  /// - Parameter isLocal: Whether the local password file has the uid now.
  mutating func compare(
    with found: UserLookup, isLocal isLocalNow: Bool, at now: Timestamp
  ) -> Verdict {
    switch found {
    case .named(let present):
      // A uid of a directory that could not be reached had no name at first. A name in the password
      // file was given to the uid later.
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
      // A file can always be read: who makes a look-up fail gains nothing.
      guard !isLocal else { return found == .nameless ? .gone : .unconfirmed }
      return now - confirmedAt < Self.holdsUnconfirmed ? .same : .unconfirmed
    }
  }
}

extension OwnerRecord {
  /// Nil where the look-up failed.
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
  /// What a caller with this uid is told; nil where it is the owner.
  func refusal(of uid: UInt32) -> UsherError? {
    let advice =
      "the operator decides: usherctl owner accept \(uid) if it is the same person, "
      + "usherctl owner forget \(uid) if not"
    switch self {
    case .same: return nil
    case .other(let name):
      return UsherError(
        .permissionDenied,
        "user \(name) (uid \(uid)): what is stored for this uid was another user's; \(advice)")
    case .gone:
      return UsherError(
        .permissionDenied,
        "uid \(uid) has no name any more, and what is stored for it was a user's; \(advice)")
    case .unknown:
      return UsherError(
        .permissionDenied,
        "uid \(uid): the user database does not say who this is; try again",
        detail: .init(retryable: true))
    case .unconfirmed:
      return UsherError(
        .permissionDenied,
        "uid \(uid): the user database does not confirm this user; try again, or tell the operator",
        detail: .init(retryable: true))
    }
  }
}

extension Owner {
  /// systemd gives these uids to services with `DynamicUser=`, and each to another one later (Users,
  /// Groups, UIDs and GIDs on systemd systems).
  private static let transientUsers = UInt32(61_184)...65_519

  /// Whether a uid is given to another service later, as a rule.
  static func isTransient(_ uid: UInt32) -> Bool { transientUsers.contains(uid) }

  /// - Throws: `permissionDenied` for a uid whose accounts would be another service's later.
  func checkMayHaveAccounts() throws(UsherError) {
    guard client == nil, Self.isTransient(uid) else { return }
    throw UsherError(
      .permissionDenied,
      "user \(uid) is one that systemd made for a while, and its accounts would be "
        + "another service's later: give this program a [[client]] rule with owner = \"client\"")
  }
}

extension LocalPerson {
  init(_ owner: Owner) { self.init(realm: owner.realm, uid: owner.uid) }

  init(_ row: OwnerRow) { self.init(realm: row.realm, uid: row.uid) }

  /// Whose the accounts of this user are.
  var owner: Owner { Owner(realm: realm, uid: uid) }
}
