import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherSystem

/// The client program that starts a flow for an owner.
struct FlowClient: Sendable, Equatable {
  /// The client's name (``Caller/client``). Only this client sees and answers the flow's steps.
  var name: String
  /// The name to display: that of the client rule, else the user name, else `uid 1000`.
  var title: String
  /// The user as which the client runs.
  var uid: UInt32
}

extension Caller {
  /// Returns the client of a flow that the caller starts. Looks up the user name if no client rule
  /// names the client.
  func flowClient(_ dependencies: Dependencies) async -> FlowClient {
    let uid = uid
    guard client == CallerPolicy.ownPrograms else {
      return FlowClient(name: client, title: client, uid: uid)
    }
    let name = await dependencies.lookups.name(of: uid)
    return FlowClient(name: client, title: name ?? "uid \(uid)", uid: uid)
  }
}

extension Caller {
  /// Whether the rules allow the caller the account's ID token at once, without a confirmation or a
  /// proof of presence.
  func mayHaveIDToken(of record: AccountRecord, _ dependencies: Dependencies) -> Bool {
    var request = PolicyRequest(
      method: TokenGet.name, provider: record.provider.rawValue,
      kind: TokenGet.Field.idToken.rawValue)
    request.account = .init(record)
    request.scopes = ["openid"]
    request.weekMinute = policy.choosesHours ? dependencies.weekMinute() : nil
    guard case .allowed(let permit) = decide(request) else { return false }
    return permit.localAuthSeconds == nil && !permit.needsConfirmation
  }
}
