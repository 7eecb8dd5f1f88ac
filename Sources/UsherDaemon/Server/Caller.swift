import UsherConfig
import UsherCore
import UsherStore
import UsherSystem

/// Who is at the other end of a connection: asked of the kernel once, at accept.
struct Caller: Sendable {
  let owner: Owner
  let policy: CallerPolicy
  /// The admin socket's mode lets only its owner in.
  let isAdmin: Bool
  /// For the journal: `uid 1000`, `till.service`.
  let label: String

  /// Which of the owner's clients it is: the first rule that matches it, else `(user)`.
  var client: String { policy.clientName }

  /// Whether it may see and take back what other clients of the owner were granted: the person's own
  /// programs may, and the administrator's.
  var speaksForAllClients: Bool { isAdmin || client == CallerPolicy.ownPrograms }

  /// - Returns: Within how many seconds its person must have been authenticated on this machine; nil
  ///   where that does not matter.
  /// - Throws: `permissionDenied` where it asks for what no rule allows.
  func check(
    _ method: String, provider: ProviderName? = nil, kind: String? = nil, operation: String? = nil
  ) throws(UsherError) -> Int? {
    if isAdmin { return nil }
    let request = PolicyRequest(
      method: method, provider: provider?.rawValue, kind: kind, operation: operation)
    switch policy.decide(request) {
    case .allow(_, let localAuthSeconds): return localAuthSeconds
    case .deny:
      let what = [provider?.rawValue, kind].compactMap { $0 }.joined(separator: "/")
      throw UsherError(
        .permissionDenied,
        what.isEmpty ? "you may not call \(method)" : "you may not call \(method) on \(what)")
    }
  }

  func may(_ method: String, provider: ProviderName) -> Bool {
    isAdmin
      || policy.decide(PolicyRequest(method: method, provider: provider.rawValue)).isAllowed
  }
}

extension Caller {
  init(_ peer: Peer, policy: Policy, isAdmin: Bool, realm: String) {
    let identity = peer.identity
    self.init(
      owner: Owner(realm: realm, uid: peer.uid),
      policy: policy.caller(
        CallerIdentity(
          uid: peer.uid, gid: peer.gid, groups: peer.groups, unit: identity.unit,
          executable: identity.executable)),
      isAdmin: isAdmin, label: identity.unit ?? "uid \(peer.uid)")
  }
}
