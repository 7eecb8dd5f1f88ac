import UsherAPI
import UsherCore
import UsherStore

@testable import UsherDaemon

extension FlowSession {
  /// One that shares nothing with others.
  convenience init(
    id: FlowID, owner: Owner, provider: ProviderName, kind: String, client: String? = nil,
    requestID: String?, createdAt: Timestamp, standing: Standing, transitions: [Transition],
    packed: PackedMachine? = nil, isToResume: Bool = false
  ) {
    let family = FlowFamily(
      owner: owner, provider: provider, kind: kind, client: client, uid: nil, credentials: nil)
    self.init(
      id: id, family: family, requestID: requestID, createdAt: createdAt, standing: standing,
      transitions: transitions, packed: packed, isToResume: isToResume)
  }
}
