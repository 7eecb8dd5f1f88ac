import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

extension Services {
  func status(_ caller: Caller) -> SystemStatus.Reply {
    let stored = store.status
    let isAdmin = caller.isAdmin
    let visible = dependencies.config.providers.filter {
      caller.may(ProviderGet.name, provider: $0.name)
    }
    return .init(
      version: Version.current, uptimeSeconds: processContext.uptimeSeconds, ready: true,
      providers: visible.map {
        .init(name: $0.name, type: $0.type, health: health.health(of: $0.name))
      },
      flows: !isAdmin && owners.isWithheld(caller.owner)
        ? 0 : flows.engine.index.liveCount(of: isAdmin ? nil : caller.owner),
      connections: processContext.count.count(of: isAdmin ? nil : caller.uid),
      store: isAdmin
        ? .init(
          path: stored.path, schemaVersion: stored.schemaVersion,
          sizeBytes: Int(stored.sizeBytes)) : nil,
      masterKey: isAdmin ? masterKeyOrigin : nil,
      hasRecoveryKey: isAdmin ? store.hasRecoveryKey : nil,
      peerIdentity: isAdmin ? processContext.peerIdentity : nil)
  }
}
