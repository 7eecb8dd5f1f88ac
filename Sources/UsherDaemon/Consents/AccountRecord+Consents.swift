import JSONRPC
import UsherCore
import UsherStore

// The parts of an account that a client may see and use, according to the user's consents.
extension AccountRecord {
  /// Returns the profile as a client may see it now; nil if nothing is visible. If the profile is
  /// shared by consent, only the members that the client's consents open are returned.
  ///
  /// - Parameter fields: The members that the client's policy rule permits; nil: all.
  func profile(
    for client: String, fields: [String]? = nil, at now: Timestamp
  ) -> [String: JSONValue]? {
    let permitted = fields.map { details.profile?.only(Set($0)) } ?? details.profile
    guard details.isByConsent else { return permitted }
    return permitted?.only(consents.members(openTo: client, at: now))
  }

  /// Whether a client of the owner needs a consent for the account's tokens, or never gets them.
  var isGuarded: Bool { details.isByConsent || details.tokensAreInternal }

  /// Whether a client has consents for everything to which a token with this scope gives access.
  /// Always false for an empty scope, which may give access to anything.
  func covers(scope: String, to client: String, at now: Timestamp) -> Bool {
    let words = scope.scopeWords
    let granted = consents.grants(of: client, at: now).map { Array($0.utf8) }
    return !words.isEmpty && words.isSubset(of: granted)
  }

  /// Whether a client's flow may use the account's token. The condition is the same as for
  /// receiving the token, except that flows may also use tokens that no client receives.
  func mayAct(for client: String, at now: Timestamp) -> Bool {
    details.tokensAreInternal || !details.isByConsent
      || covers(scope: details.grant.scope, to: client, at: now)
  }

  /// Removes the profile members that no client has a valid consent to read.
  mutating func minimise(at now: Timestamp) {
    guard details.isByConsent else { return }
    details.profile = details.profile?.only(consents.members(at: now))
  }
}

extension [String: JSONValue] {
  /// Returns only the given members; nil if none is left.
  fileprivate func only(_ members: Set<String>) -> [String: JSONValue]? {
    let left = filter { members.contains($0.key) }
    return left.isEmpty ? nil : left
  }
}

extension AccountRepository {
  /// Plans the withdrawal of consents for an account, and the deletion of the profile members that
  /// no client may read any more because its consent was withdrawn.
  ///
  /// - Returns: Nil if no consent matches, or the account was forgotten in the meantime.
  func update(
    _ id: AccountID, at now: Timestamp,
    withdrawing isIncluded: (AccountConsents.Key, AccountConsents.Consent) -> Bool
  ) throws(UsherError) -> (update: Update, withdrawn: Int)? {
    guard let before = try find(id) else { return nil }
    var record = before
    let profile = record.details.profile
    let removed = record.consents.remove(where: isIncluded)
    guard !removed.isEmpty else { return nil }
    record.minimise(at: now)
    var changes = removed.map { Change.deleteConsent(id, client: $0.client, grant: $0.grant) }
    if record.details.profile != profile { changes.append(try putRow(&record)) }
    return (Update(record: record, changes: changes, before: before), removed.count)
  }
}
