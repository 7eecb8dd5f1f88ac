import Dispatch
import UsherAPI
import UsherConfig
import UsherCore
import UsherSystem

/// `policy.check` and `policy.list`: the rules the daemon runs with, and why they say what they say.
struct PolicyDesk: Sendable {
  let world: World
  let policy: Policy
  let names: PrincipalResolver
  /// Looks at the users' database, which may be far away.
  private let waiting = DispatchQueue(label: "usherd.names", attributes: .concurrent)

  init(world: World, policy: Policy, names: PrincipalResolver = .system) {
    self.world = world
    self.policy = policy
    self.names = names
  }

  func check(_ check: PolicyCheck) async throws(UsherError) -> PolicyCheck.Reply {
    let now = LocalMoment(world.clock.now())
    let result = await withCheckedContinuation { continuation in
      waiting.async { [world, policy, names] in
        continuation.resume(
          returning: Result { () throws(UsherError) in
            try policy.answer(check, of: world.config, at: now, names: names)
          })
      }
    }
    return try result.get()
  }

  func list() -> PolicyList.Reply { world.config.policyList() }
}

extension PrincipalResolver {
  /// As this machine knows them.
  static let system = PrincipalResolver(
    user: { SystemUsers.userID(named: $0) }, group: { SystemUsers.groupID(named: $0) },
    groups: { SystemUsers.groupIDs(of: $0) })
}
