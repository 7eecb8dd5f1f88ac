import GRDB
package import UsherCore

/// The record of the user to whom the system assigned a uid, by which usherd detects that a uid was
/// reassigned. The realm and the uid, which are the key, and `isWithheld` are stored in the clear
/// and authenticated.
package struct OwnerRow: Sendable, Hashable {
  package var realm: String
  package var uid: UInt32
  /// Whether usherd refuses access to the user's stored objects until an operator decides, because
  /// the uid may have been reassigned or the objects are being deleted.
  package var isWithheld: Bool
  package var payload: SealedPayload

  package init(realm: String, uid: UInt32, isWithheld: Bool, payload: SealedPayload) {
    self.realm = realm
    self.uid = uid
    self.isWithheld = isWithheld
    self.payload = payload
  }
}

// These methods block on the disk, and throw `storage_unavailable`.
extension Store {
  /// Returns the record of the user to whom a uid was assigned; nil if there is none.
  package func loadOwner(realm: String, uid: UInt32) throws(UsherError) -> OwnerRow? {
    try loadRows(OwnerRow.self, "WHERE \(OwnerRow.table.isKey)", [realm, uid], from: reader).first
  }

  /// Returns the records of the users whose stored objects are withheld: access to them is refused,
  /// because the uid may belong to another person now or the objects are being deleted.
  package func loadWithheldOwners() throws(UsherError) -> [OwnerRow] {
    try loadRows(OwnerRow.self, "WHERE is_withheld = 1", from: reader)
  }

  package func loadOwners() throws(UsherError) -> [OwnerRow] {
    try loadRows(OwnerRow.self, from: reader)
  }

  /// Returns whether an account, flow, passcode or confirmation answer of the user is stored.
  /// Objects of client rules do not count.
  package func hasStoredObjects(ofUser uid: UInt32, realm: String) throws(UsherError) -> Bool {
    try load(
      """
      SELECT EXISTS (SELECT 1 FROM accounts WHERE realm = ?1 AND uid = ?2 AND client = '')
        OR EXISTS (SELECT 1 FROM flows WHERE realm = ?1 AND uid = ?2 AND client = '')
        OR EXISTS (SELECT 1 FROM local_auth WHERE realm = ?1 AND uid = ?2)
        OR EXISTS (SELECT 1 FROM confirmations WHERE realm = ?1 AND uid = ?2)
      """, [realm, uid], from: reader
    ) { try $0.next() as Bool }.first ?? false
  }

  /// Returns all uids for which ``hasStoredObjects(ofUser:realm:)`` is true.
  ///
  /// There may be a million accounts, so the query makes one index look-up for each uid instead of
  /// reading all accounts.
  package func usersWithStoredObjects(in realm: String) throws(UsherError) -> [UInt32] {
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
