import UsherAPI
import UsherCore
import UsherFlows
import UsherStore

@testable import UsherDaemon

extension LiveFlow {
  /// Creates a session that shares no metadata with other sessions.
  convenience init(
    id: FlowID, owner: Owner, provider: ProviderName, kind: String, client: String? = nil,
    requestID: String?, createdAt: Timestamp, snapshot: Snapshot, transitions: [Transition],
    packed: PackedMachine? = nil, isToResume: Bool = false
  ) {
    let metadata = SharedFlowMetadata(
      FlowMetadata(owner: owner, provider: provider, kind: kind, client: client, uid: owner.uid))
    self.init(
      id: id, metadata: metadata, requestID: requestID, createdAt: createdAt, snapshot: snapshot,
      transitions: transitions, packed: packed, isToResume: isToResume)
  }

  /// Creates a session with the given machine, by default of anna, that begins at `now`.
  convenience init<Machine: FlowMachine>(
    of machine: Machine, id: String, owner: Owner = .anna, provider: ProviderName = .work,
    client: String? = nil, requestID: String? = nil, at now: Timestamp
  ) {
    self.init(
      id: FlowID(id), owner: owner, provider: provider, kind: Machine.kind, client: client,
      requestID: requestID, createdAt: now,
      snapshot: .init(
        machine: machine, view: machine.view, ending: .active, revision: 1, updatedAt: now,
        expiresAt: now + FlowHarness.deadline),
      transitions: [Transition(revision: 1, state: machine.view.state, at: now)])
  }
}
