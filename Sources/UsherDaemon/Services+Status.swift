import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

extension Services {
  func status(_ caller: Caller) -> SystemStatus.Reply {
    var status = processContext.lockedStatus(caller)
    status.ready = true
    status.locked = nil
    for index in status.providers.indices {
      status.providers[index].health = health.health(of: status.providers[index].name)
    }
    if caller.isAdmin {
      let stored = store.status
      status.flows = flows.engine.index.liveCount(of: nil)
      status.store = .init(
        path: stored.path, schemaVersion: stored.schemaVersion, sizeBytes: Int(stored.sizeBytes))
      status.masterKey = masterKeyOrigin
      status.hasRecoveryKey = store.hasRecoveryKey
    } else if !owners.isWithheld(caller.owner) {
      status.flows = flows.engine.index.liveCount(of: caller.owner)
    }
    return status
  }
}
