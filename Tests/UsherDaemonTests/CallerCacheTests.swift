import Testing
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("A caller under the rules that are in force")
struct CallerCacheTests {
  private let connectingPeer = PeerIdentity(
    CallerIdentity(uid: 1000, gid: 1000), pid: 7, isAdmin: false, realm: "host")

  private func policy(_ allow: String..., owner: ClientRule.Ownership = .user) throws -> Policy {
    var rule = ClientRule(
      name: "till", match: ClientMatch(user: .id(1000)),
      allow: try allow.map { try AccessPattern(setting: $0) })
    rule.owner = owner
    return try Policy.of([rule])
  }

  @Test("is worked out anew when other rules are in force, and kept else")
  func anew() throws {
    let configStore = ConfigStore(Config(), try policy("account.list"))
    let standing = CallerCache(connectingPeer, configStore)
    let list = PolicyRequest(method: "account.list")
    #expect(standing.caller.decide(list).isAllowed)
    var generation = configStore.generation
    #expect(standing.caller(otherThanAt: &generation) == nil)
    configStore.replace(by: Config(), try policy("token.list"))
    #expect(!standing.caller.decide(list).isAllowed)
    let other = standing.caller(otherThanAt: &generation)
    #expect(other?.decide(list).isAllowed == false && other?.audited.pid == 7)
    #expect(standing.caller(otherThanAt: &generation) == nil)
  }

  @Test("whose things it brings follows the rules too")
  func owner() throws {
    let configStore = ConfigStore(Config(), try policy("*"))
    let standing = CallerCache(connectingPeer, configStore)
    #expect(standing.caller.owner == Owner(realm: "host", uid: 1000))
    configStore.replace(by: Config(), try policy("*", owner: .client))
    #expect(standing.caller.owner.client == "till")
    #expect(standing.caller.uid == 1000)
  }
}
