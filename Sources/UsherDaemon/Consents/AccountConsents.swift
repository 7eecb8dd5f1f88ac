import UsherCore
import UsherFlows
import UsherStore

/// The consents for one account: for each client, the grants (readable parts of the account) that
/// the user approved, until they expire or are withdrawn.
struct AccountConsents: Sendable, Equatable {
  struct Key: Hashable, Sendable {
    /// The name of the client, the same as ``Caller/client``.
    var client: String
    /// The provider's name of the grant: `read.firstname`.
    var grant: String
  }

  struct Consent: Sendable, Equatable {
    /// The profile member that the client may read by this consent; nil if the consent opens none.
    var member: String?
    var grantedAt: Timestamp
    var expiresAt: Timestamp
    /// The user that gave the consent.
    var grantedBy: UInt32

    func isValid(at now: Timestamp) -> Bool { expiresAt > now }
  }

  private(set) var entries: [Key: Consent] = [:]

  func grants(of client: String, at now: Timestamp) -> Set<String> {
    Set(validEntries(at: now).filter { $0.key.client == client }.map(\.key.grant))
  }

  /// Returns the profile members that the client may read by its consents; nil: that any client may
  /// read.
  func members(openTo client: String? = nil, at now: Timestamp) -> Set<String> {
    let open = validEntries(at: now).filter { client == nil || $0.key.client == client }
    return Set(open.compactMap(\.value.member))
  }

  func includeOthers(than client: String, at now: Timestamp) -> Bool {
    validEntries(at: now).contains { $0.key.client != client }
  }

  func hasExpired(at now: Timestamp) -> Bool { entries.contains { !$0.value.isValid(at: now) } }

  /// Adds the consents of a client for the given grants. A consent that exists already is renewed.
  ///
  /// - Returns: The keys of the consents that must be written to the store.
  mutating func add(
    _ grants: [ConsentGrant], of client: String, grantedBy uid: UInt32, at now: Timestamp
  ) -> [Key] {
    grants.map { grant in
      let key = Key(client: client, grant: grant.grant)
      entries[key] = Consent(
        member: grant.member, grantedAt: now, expiresAt: grant.expiresAt, grantedBy: uid)
      return key
    }
  }

  /// Removes the matching consents; returns their keys.
  mutating func remove(where isIncluded: (Key, Consent) -> Bool) -> [Key] {
    let removed = entries.filter { isIncluded($0.key, $0.value) }.map(\.key)
    for key in removed { entries[key] = nil }
    return removed
  }

  private func validEntries(at now: Timestamp) -> [Key: Consent] {
    entries.filter { $0.value.isValid(at: now) }
  }
}

// Conversion between consents and database rows.
extension AccountConsents {
  /// The encrypted payload of a consent's row.
  private struct Stored: Codable {
    var member: String?
    var grantedAt: Timestamp
    var grantedBy: UInt32
  }

  init(_ rows: [ConsentRow]) throws(UsherError) {
    for row in rows {
      let stored = try row.payload.decoded(as: Stored.self)
      entries[Key(client: row.client, grant: row.grant)] = Consent(
        member: stored.member, grantedAt: stored.grantedAt, expiresAt: row.expiresAt,
        grantedBy: stored.grantedBy)
    }
  }

  /// Returns the row of a consent; nil if there is no consent with this key.
  func row(_ key: Key, of account: AccountID) throws(UsherError) -> ConsentRow? {
    guard let consent = entries[key] else { return nil }
    return ConsentRow(
      account: account, client: key.client, grant: key.grant, expiresAt: consent.expiresAt,
      payload: try SealedPayload(
        encoding: Stored(
          member: consent.member, grantedAt: consent.grantedAt, grantedBy: consent.grantedBy)))
  }
}
