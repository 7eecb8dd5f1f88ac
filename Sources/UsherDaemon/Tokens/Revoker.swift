import UsherAPI
import UsherCore
import UsherFlows
import UsherStore

/// Gives tokens back: revoked at the provider where it can be done, then wiped here.
struct Revoker: Sendable {
  let world: World
  let store: Store
  let book: AccountBook
  let source: TokenSource

  /// Revokes and wipes the tokens; the account stays, in need of a new log-in.
  func drop(_ record: AccountRecord) async throws(UsherError) -> AccountForget.Revocation {
    let revoked = await takeBack(record)
    let word = ProviderWord(name: record.provider, code: "revoked")
    try await book.turns.take(record.shelf) { () throws(UsherError) in
      guard let update = try book.update(dropping: record, word: word) else {
        throw UsherError(.conflict, "the account changed meanwhile: ask again")
      }
      try await store.commit(update.changes)
      book.install(update)
    }
    return revoked
  }

  /// Revokes if asked to, and wipes the account whatever the provider said.
  func forget(
    _ record: AccountRecord, revoke: Bool
  ) async throws(UsherError) -> AccountForget.Revocation {
    let revoked = revoke ? await takeBack(record) : .skipped
    try await book.turns.take(record.shelf) { () throws(UsherError) in
      try await store.commit([.deleteAccount(record.id)])
      book.remove(record)
    }
    return revoked
  }

  /// Wipes the account if it is as it should be, and then revokes its tokens: of one that stays nothing
  /// is revoked. When the daemon dies in between, the tokens live until they expire.
  ///
  /// - Returns: Whether it is gone.
  func forget(
    _ record: AccountRecord, if isMeant: (AccountRecord) -> Bool
  ) async throws(UsherError) -> Bool {
    let gone = try await book.turns.take(record.shelf) { () throws(UsherError) -> AccountRecord? in
      guard let current = try book.find(record.id) else { return record }
      guard isMeant(current) else { return nil }
      try await store.commit([.deleteAccount(current.id)])
      book.remove(current)
      return current
    }
    guard let gone else { return false }
    _ = await takeBack(gone)
    return true
  }

  /// In a task of its own: a caller who leaves in the middle must not leave the tokens alive.
  private func takeBack(_ record: AccountRecord) async -> AccountForget.Revocation {
    await Task { await source.revoke(record) }.value
  }
}
