import UsherAPI
import UsherCore
import UsherFlows
import UsherStore

/// Deletes tokens from the store, and has them revoked at the provider if possible.
///
/// One commit deletes the tokens and stores their revocation: callers cannot get the tokens any
/// more, and a crash of the daemon does not leave them valid (``RevocationQueue``).
struct Revoker: Sendable {
  let repository: AccountRepository
  let queue: RevocationQueue

  /// Deletes and revokes the tokens of an account; the account stays and needs a new sign-in.
  func drop(
    _ record: AccountRecord, by asker: Revocation.Asker
  ) async throws(UsherError) -> RevocationResult {
    let errorCode = ProviderErrorCode(name: record.provider, code: "revoked")
    let revocation = try await repository.changeLock.withLock(record.lockKey) {
      () throws(UsherError) -> Revocation in
      guard let current = try repository.find(record.id),
        let update = try repository.update(droppingTokensOf: current, errorCode: errorCode)
      else { throw AccountRepository.changedMeanwhile }
      let revocation = Revocation(of: current, by: asker, repository.dependencies)
      try await repository.store.commit(update.changes + revocation.changes())
      repository.install(update)
      return revocation
    }
    return await revoke(revocation)
  }

  /// Deletes an account if `condition` returns true for its current state, and revokes its tokens
  /// if requested. If the account stays, nothing is revoked.
  ///
  /// - Returns: Nil if the account stays, or if another call has deleted it. That call revokes the
  ///   tokens if it was asked to.
  func forget(
    _ record: AccountRecord, revoke isRevoked: Bool = true, by asker: Revocation.Asker,
    if condition: (AccountRecord) -> Bool = { _ in true }
  ) async throws(UsherError) -> RevocationResult? {
    let revocation = try await repository.changeLock.withLock(record.lockKey) {
      () throws(UsherError) -> Revocation? in
      guard let current = try repository.find(record.id), condition(current) else { return nil }
      let revocation = Revocation(
        of: current, deletesGrant: true, by: asker, repository.dependencies)
      let changes = isRevoked ? try revocation.changes() : []
      try await repository.store.commit([.deleteAccount(current.id)] + changes)
      repository.remove(current)
      return revocation
    }
    guard let revocation else { return nil }
    guard isRevoked else {
      let living = revocation.tokens.map { $0.living(.notAsked) }
      return RevocationResult(revoked: .skipped, living: living)
    }
    return await revoke(revocation)
  }

  private func revoke(_ revocation: Revocation) async -> RevocationResult {
    guard !revocation.tokens.isEmpty else { return RevocationResult(revoked: .skipped, living: []) }
    return await queue.revoke(revocation)
  }
}

extension Revocation {
  /// Returns the change that stores this revocation as a note; empty if there is no token.
  fileprivate func changes() throws(UsherError) -> [Change] {
    tokens.isEmpty ? [] : [.putNote(try row())]
  }
}

extension Revocation.Asker {
  init(_ caller: Caller) {
    self.init(client: caller.client, uid: caller.uid, gid: caller.audited.gid)
  }
}
