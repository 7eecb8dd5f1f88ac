import Testing
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Caller cache")
struct CallerCacheTests {
  private let connectingPeer = PeerIdentity(
    identity: CallerIdentity(uid: 1000, gid: 1000), pid: 7, isAdmin: false, realm: "host")

  private func policy(_ allow: String..., owner: ClientRule.Ownership = .user) throws -> Policy {
    var rule = ClientRule(
      name: "till", match: ClientMatch(user: .id(1000)),
      allow: try allow.map { try AccessPattern(setting: $0) })
    rule.owner = owner
    return try Policy.of([rule])
  }

  @Test("a caller is evaluated again after the rules change, and cached otherwise")
  func anew() throws {
    let configStore = ConfigStore(Config(), try policy("account.list"))
    let cache = CallerCache(connectingPeer, configStore)
    let list = PolicyRequest(method: "account.list")
    #expect(cache.caller.decide(list).isAllowed)
    var generation = configStore.generation
    #expect(cache.caller(otherThanAt: &generation) == nil)
    configStore.replace(by: Config(), try policy("token.list"))
    #expect(!cache.caller.decide(list).isAllowed)
    let other = cache.caller(otherThanAt: &generation)
    #expect(other?.decide(list).isAllowed == false && other?.audited.pid == 7)
    #expect(cache.caller(otherThanAt: &generation) == nil)
  }

  @Test("a caller's owner changes with the rules, and the uid stays")
  func owner() throws {
    let configStore = ConfigStore(Config(), try policy("*"))
    let cache = CallerCache(connectingPeer, configStore)
    #expect(cache.caller.owner == Owner(realm: "host", uid: 1000))
    configStore.replace(by: Config(), try policy("*", owner: .client))
    #expect(cache.caller.owner.client == "till")
    #expect(cache.caller.uid == 1000)
  }
}
