import FoundationEssentials
import GRDB
package import UsherCore

/// The sealed record of the user that a uid belongs to. It is stored as a note, so that deletion and
/// roll-back are noticed (``RowSets``).
package struct OwnerNote: Sendable, Hashable {
  package var realm: String
  package var uid: UInt32
  package var payload: SealedPayload

  package init(realm: String, uid: UInt32, payload: SealedPayload) {
    self.realm = realm
    self.uid = uid
    self.payload = payload
  }

  private static let prefix = "owner."

  /// `owner.1000.host`
  fileprivate static func name(realm: String, uid: UInt32) -> String { "\(prefix)\(uid).\(realm)" }

  fileprivate init?(_ row: NoteRow) {
    let parts = row.name.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let uid = UInt32(parts[1]) else { return nil }
    self.init(realm: String(parts[2]), uid: uid, payload: row.payload)
  }

  /// All names with the prefix: "/" follows ".".
  fileprivate static let names: StatementArguments = ["owner.", "owner/"]
}

extension Change {
  package static func putOwner(_ owner: OwnerNote) -> Change {
    let name = OwnerNote.name(realm: owner.realm, uid: owner.uid)
    return .putNote(NoteRow(name: name, payload: owner.payload))
  }

  package static func deleteOwner(realm: String, uid: UInt32) -> Change {
    .deleteNote(OwnerNote.name(realm: realm, uid: uid))
  }
}

/// All of these throw `storage_unavailable`, and block.
extension Store {
  package func loadOwners() throws(UsherError) -> [OwnerNote] {
    try load(
      "SELECT name, sealed FROM notes WHERE name > ? AND name < ?", OwnerNote.names, from: reader
    ) { columns in
      let row = NoteRow(name: try columns.next(), payload: SealedPayload([]))
      return OwnerNote(try self.sealer.open(columns.next(), into: row))
    }.compactMap(\.self)
  }

  /// Whether an account, flow, passcode or answer of the user is stored.
  package func hasPossessions(ofUser uid: UInt32, realm: String) throws(UsherError) -> Bool {
    try load(
      """
      SELECT EXISTS (SELECT 1 FROM accounts WHERE realm = ?1 AND uid = ?2 AND client = '')
        OR EXISTS (SELECT 1 FROM flows WHERE realm = ?1 AND uid = ?2 AND client = '')
        OR EXISTS (SELECT 1 FROM local_auth WHERE realm = ?1 AND uid = ?2)
        OR EXISTS (SELECT 1 FROM confirmations WHERE realm = ?1 AND uid = ?2)
      """, [realm, uid], from: reader
    ) { try $0.next() as Bool }.first ?? false
  }

  /// The users of whom ``hasPossessions(ofUser:realm:)`` is true.
  ///
  /// Of the accounts, which may be a million, the index is looked at once for each user.
  package func usersWithPossessions(in realm: String) throws(UsherError) -> [UInt32] {
    try load(
      """
      WITH RECURSIVE owners (uid) AS (
        SELECT min(uid) FROM accounts WHERE realm = ?1
        UNION ALL
        SELECT (SELECT min(uid) FROM accounts WHERE realm = ?1 AND uid > owners.uid)
        FROM owners WHERE uid IS NOT NULL
      )
      SELECT uid FROM owners WHERE EXISTS (
        SELECT 1 FROM accounts WHERE realm = ?1 AND uid = owners.uid AND client = '')
      UNION SELECT uid FROM flows WHERE realm = ?1 AND client = ''
      UNION SELECT uid FROM local_auth WHERE realm = ?1
      UNION SELECT uid FROM confirmations WHERE realm = ?1
      """, [realm], from: reader
    ) { try $0.next() }
  }
}
