import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

// Handoff secrets: secrets that an ended flow leaves for a later flow of the same client.
extension FlowEngine {
  /// A handoff secret, and the ended flow that left it.
  struct Left {
    let giver: LiveFlow
    let handoffSecret: HandoffSecret
  }

  func left(
    at provider: ProviderName, to owner: Owner, _ client: String?, at now: Timestamp
  ) -> [Left] {
    index.keepers(of: owner).compactMap { flow in
      guard flow.provider == provider, flow.client == client,
        let handoffSecret = flow.standing.ending.handoffSecret, handoffSecret.expiresAt > now
      else { return nil }
      return Left(giver: flow, handoffSecret: handoffSecret)
    }
  }

  /// Claims the handoff secret that a new flow starts with, so that no other flow gets it.
  ///
  /// - Returns: The flow that left the secret; nil if the machine needs none.
  /// - Throws: `conflict` if another flow has claimed the secret.
  func claim(
    for machine: any AnyFlowMachine, of left: [Left]
  ) throws(UsherError) -> LiveFlow? {
    guard let handle = machine.consumedHandoffSecret else { return nil }
    guard let giver = left.first(where: { $0.handoffSecret.handle == handle })?.giver,
      index.claim(giver)
    else {
      throw UsherError(
        .conflict,
        "another flow is using the tokens of an earlier sign-in: start this flow again")
    }
    return giver
  }

  /// Deletes the handoff secrets that ended flows of a client have left for later flows.
  func dropHandoffSecrets(
    at provider: ProviderConfig, of owner: Owner, _ client: String
  ) async throws(UsherError) {
    for left in left(at: provider.name, to: owner, client, at: .earliest)
    where index.claim(left.giver) {
      let emptied = try repository.emptied(left.giver, of: provider.settings.variety)
      try await store.commit([emptied.change])
      left.giver.install(emptied.standing)
    }
  }
}
