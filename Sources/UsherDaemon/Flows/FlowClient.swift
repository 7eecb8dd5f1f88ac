import UsherConfig
import UsherStore
import UsherSystem

/// The client of an owner that starts a flow.
struct FlowClient: Sendable, Equatable {
  /// The same as ``Caller/client``. Only this client sees the flow's steps and answers them.
  var name: String
  /// The display name: the rule's name, the user name if no rule matches, or `uid 1000`.
  var title: String
  /// The user that the client runs as.
  var uid: UInt32
}

extension Caller {
  /// Looks the user up if no rule names the client.
  func flowClient(_ dependencies: Dependencies) async -> FlowClient {
    let uid = uid
    guard client == CallerPolicy.ownPrograms else {
      return FlowClient(name: client, title: client, uid: uid)
    }
    let name = await dependencies.lookups.name(of: uid)
    return FlowClient(name: client, title: name ?? "uid \(uid)", uid: uid)
  }
}
