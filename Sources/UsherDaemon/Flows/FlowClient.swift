import UsherConfig
import UsherStore
import UsherSystem

/// Which of an owner's programs begins a flow.
struct FlowClient: Sendable, Equatable {
  /// As ``Caller/client``: a flow's step is shown to this one, and answered by it.
  var name: String
  /// For people: the rule's name, or the user's where no rule matches, or `uid 1000`.
  var title: String
  /// The user whose program it was.
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
