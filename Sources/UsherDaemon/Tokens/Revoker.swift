import UsherAPI
import UsherCore
import UsherFlows
import UsherStore

/// Wipes tokens here, and has them revoked at the provider where it can be done.
///
/// One commit wipes the tokens and stores their revocation: no caller gets them any more, and a stop of
/// the daemon does not leave them alive (``RevocationQueue``).
struct Revoker: Sendable {
  let dependencies: Dependencies
  let store: Store
  let repository: AccountRepository
  let queue: RevocationQueue

  /// Wipes and revokes the tokens; the account stays, in need of a new log-in.
  func drop(
    _ record: AccountRecord, by asker: Revocation.Asker
  ) async throws(UsherError) -> RevocationResult {
    let word = ProviderErrorCode(name: record.provider, code: "revoked")
    let revocation = try await repository.turns.withLock(record.shelf) {
      () throws(UsherError) -> Revocation in
      guard let current = try repository.find(record.id),
        let update = try repository.update(dropping: current, word: word)
      else { throw UsherError(.conflict, "the account changed meanwhile: ask again") }
      let revocation = Revocation(of: current, by: asker, dependencies)
      try await store.commit(update.changes + revocation.changes())
      repository.install(update)
      return revocation
    }
    return await revoke(revocation)
  }

  /// Wipes the account, and revokes its tokens if asked to.
  func forget(
    _ record: AccountRecord, revoke isRevoked: Bool, by asker: Revocation.Asker
  ) async throws(UsherError) -> RevocationResult {
    let revocation = try await repository.turns.withLock(record.shelf) {
      () throws(UsherError) -> Revocation in
      let current = try repository.find(record.id) ?? record
      let revocation = Revocation(of: current, by: asker, dependencies)
      let changes = isRevoked ? try revocation.changes() : []
      try await store.commit([.deleteAccount(current.id)] + changes)
      repository.remove(current)
      return revocation
    }
    guard isRevoked else {
      let living = revocation.tokens.map { $0.living(.notAsked) }
      return RevocationResult(revoked: .skipped, living: living)
    }
    return await revoke(revocation)
  }

  /// Wipes the account if it is as it should be, and then revokes its tokens: of one that stays nothing
  /// is revoked.
  ///
  /// - Returns: Whether it is gone.
  func forget(
    _ record: AccountRecord, by asker: Revocation.Asker, if isMeant: (AccountRecord) -> Bool
  ) async throws(UsherError) -> Bool {
    let revocation = try await repository.turns.withLock(record.shelf) {
      () throws(UsherError) -> Revocation? in
      guard let current = try repository.find(record.id) else {
        return Revocation(of: record, [], by: asker, dependencies)
      }
      guard isMeant(current) else { return nil }
      let revocation = Revocation(of: current, by: asker, dependencies)
      try await store.commit([.deleteAccount(current.id)] + revocation.changes())
      repository.remove(current)
      return revocation
    }
    guard let revocation else { return false }
    _ = await revoke(revocation)
    return true
  }

  private func revoke(_ revocation: Revocation) async -> RevocationResult {
    guard !revocation.tokens.isEmpty else { return RevocationResult(revoked: .skipped, living: []) }
    return await queue.revoke(revocation)
  }
}

extension Revocation {
  /// Nothing where there is nothing to revoke.
  fileprivate func changes() throws(UsherError) -> [Change] {
    tokens.isEmpty ? [] : [.putNote(try row())]
  }
}

extension Revocation.Asker {
  init(_ caller: Caller) {
    self.init(client: caller.client, uid: caller.uid, gid: caller.audited.gid)
  }
}
