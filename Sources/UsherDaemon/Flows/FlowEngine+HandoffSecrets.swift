import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

// Handoff secrets: secrets, such as tokens, that an ended flow leaves for its client's later one.
extension FlowEngine {
  /// Returns the ended flows of a client that have left a handoff secret which has not expired.
  func predecessors(
    at provider: ProviderName, to owner: Owner, _ client: String?, at now: Timestamp
  ) -> [LiveFlow] {
    index.predecessors(of: owner).filter { flow in
      flow.provider == provider && flow.client == client
        && flow.handoffSecret.map { $0.expiresAt > now } ?? false
    }
  }

  /// Claims the handoff secret with which a new flow starts, so that no other flow uses it.
  ///
  /// - Returns: The flow that left the secret; nil if the new flow's machine needs none.
  /// - Throws: `conflict` if another flow has claimed the secret.
  func claim(
    for machine: any FlowMachine, of predecessors: [LiveFlow]
  ) throws(UsherError) -> LiveFlow? {
    guard let handle = machine.consumedHandoffSecret else { return nil }
    guard let predecessor = predecessors.first(where: { $0.handoffSecret?.handle == handle }),
      index.claim(predecessor)
    else {
      throw UsherError(
        .conflict,
        "another flow is using the tokens of an earlier sign-in: start this flow again")
    }
    return predecessor
  }

  /// Deletes the handoff secrets that ended flows of a client have left for later flows.
  func dropHandoffSecrets(
    at provider: ProviderConfig, of owner: Owner, _ client: String
  ) async throws(UsherError) {
    for predecessor in predecessors(at: provider.name, to: owner, client, at: .earliest)
    where index.claim(predecessor) {
      do throws(UsherError) {
        let cleared = try repository.withoutHandoffSecret(
          predecessor, of: provider.settings.variety)
        try await store.commit([cleared.change])
        predecessor.install(cleared.snapshot)
      } catch {
        index.unclaim(predecessor)
        throw error
      }
    }
  }
}

extension LiveFlow {
  /// The secret that the ended flow has left for later flows of its client; nil if there is none.
  var handoffSecret: HandoffSecret? { snapshot.ending.handoffSecret }
}
