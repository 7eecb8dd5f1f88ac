import UsherAPI
import UsherCore
import UsherFlows
import UsherStore

/// Implementation of `client.clear`: cancels one client's flows at a provider, removes its handoff
/// secrets and consents, and forgets the accounts that it created and no other client uses.
struct ClientService: Sendable {
  let engine: FlowEngine
  let consents: ConsentService
  let revoker: Revoker

  /// Clears a client's objects at a provider.
  ///
  /// - Parameter isCovered: Whether the policy rule that permits the call applies to an account.
  func clear(
    _ call: ClientClear, _ caller: Caller, where isCovered: (AccountRecord) -> Bool = { _ in true }
  ) async throws(UsherError) -> ClientClear.Reply {
    let (owner, client) = (caller.owner, caller.client)
    let repository = consents.repository
    if try !repository.hasAccounts(of: owner, at: call.provider) {
      _ = try engine.dependencies.configStore.provider(named: call.provider)
    }
    var reply = ClientClear.Reply(cancelled: 0, forgotten: 0, kept: 0)
    let flows = engine.flows(of: owner) {
      $0.provider == call.provider && $0.client == client && !$0.isFinished
    }
    for flow in flows {
      let ended = try await engine.cancel(flow.id, owner: owner)
      // The flow may have ended in another way just before it was to be cancelled.
      if ended.snapshot.ending.status == .cancelled { reply.cancelled += 1 }
    }
    // Only a flow of a configured provider can use a handoff secret, so otherwise none is removed.
    if let provider = engine.dependencies.configStore.current.provider(call.provider) {
      try await engine.dropHandoffSecrets(at: provider, of: owner, client)
    }
    let records = try repository.accounts(for: caller, ClientClear.name, at: call.provider)
    for record in records where record.involves(client) && isCovered(record) {
      let result = try await revoker.forget(record, by: .init(caller)) { current in
        current.details.broughtBy == client
          && !current.consents.includeOthers(than: client, at: engine.dependencies.clock.now())
      }
      if result == nil, try repository.find(record.id) != nil {
        try await consents.withdraw(from: record) { key, _ in key.client == client }
        reply.kept += 1
      } else {
        reply.forgotten += 1
      }
    }
    return reply
  }
}

extension AccountRecord {
  /// Whether a client created the account or holds a consent for it.
  fileprivate func involves(_ client: String) -> Bool {
    details.broughtBy == client || consents.entries.keys.contains { $0.client == client }
  }
}
