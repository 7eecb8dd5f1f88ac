import JSONRPC
import UsherCore
import UsherStore

// Who may be told what of an account.
extension AccountRecord {
  /// The profile as a client may see it just now: whole where it is not by consent, else the members
  /// that its consents open. Nil where there is nothing of it to see.
  ///
  /// - Parameter fields: The members that the client's rule lets it see; nil: all.
  func profile(
    for client: String, fields: [String]? = nil, at now: Timestamp
  ) -> [String: JSONValue]? {
    let ruled = fields.map { details.profile?.only(Set($0)) } ?? details.profile
    guard details.isByConsent else { return ruled }
    return ruled?.only(consents.members(openTo: client, at: now))
  }

  /// Whether its tokens are not for every client of the owner.
  var isGuarded: Bool { details.isByConsent || details.tokensAreInternal }

  /// Whether a client was granted all that a token with this scope gives access to. What names no
  /// scope may give access to anything.
  func opens(scope: String, to client: String, at now: Timestamp) -> Bool {
    let words = scope.scopeWords
    let granted = consents.grants(of: client, at: now).map { Array($0.utf8) }
    return !words.isEmpty && words.isSubset(of: granted)
  }

  /// Whether its token may be used for a client's flow: as it may be had, but that the daemon's own are
  /// for flows.
  func mayAct(for client: String, at now: Timestamp) -> Bool {
    details.tokensAreInternal || !details.isByConsent
      || opens(scope: details.grant.scope, to: client, at: now)
  }

  /// Wipes what no consent opens any more.
  mutating func minimise(at now: Timestamp) {
    guard details.isByConsent else { return }
    details.profile = details.profile?.only(consents.members(at: now))
  }
}

extension [String: JSONValue] {
  /// Nil where nothing is left.
  fileprivate func only(_ members: Set<String>) -> [String: JSONValue]? {
    let left = filter { members.contains($0.key) }
    return left.isEmpty ? nil : left
  }
}

extension AccountRepository {
  /// Plans taking consents back, with what they alone have opened.
  ///
  /// - Returns: Nil where none is meant, or the account was forgotten meanwhile.
  func update(
    _ id: AccountID, at now: Timestamp,
    withdrawing isMeant: (AccountConsents.Key, AccountConsents.Consent) -> Bool
  ) throws(UsherError) -> (update: Update, withdrawn: Int)? {
    guard let before = try find(id) else { return nil }
    var record = before
    let profile = record.details.profile
    let gone = record.consents.remove(where: isMeant)
    guard !gone.isEmpty else { return nil }
    record.minimise(at: now)
    var changes = gone.map { Change.deleteConsent(id, client: $0.client, grant: $0.grant) }
    if record.details.profile != profile { changes.append(try put(&record)) }
    return (Update(record: record, changes: changes, before: before), gone.count)
  }
}
