import Testing
import UsherConfig
import UsherCore
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

@Suite("Caller cache", .timeLimit(.minutes(10)))
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

  @Test("a call that waits for the user database is decided under the rules after the wait")
  func afterTheWait() async throws {
    let users = FakeUsers()
    users.set(Owner.anna.uid, .named("anna"), isLocal: true)
    let harness = try await ConnectionHarness(users: users.database(nameHolds: .zero))
    func peer() -> PeerIdentity {
      harness.clock.advance(by: .milliseconds(1))
      return PeerIdentity(
        identity: ConnectionHarness.connectingPeer.identity, isAdmin: false,
        realm: Owner.anna.realm, connectedAt: harness.clock.monotonicNow())
    }
    try harness.rule { _ in }
    // An owner of stored objects must have a record.
    let earlier = CallerCache(peer(), harness.configStore).caller
    try await harness.lockController.services().owners.verify(earlier)
    try await harness.signIn()
    let connection = try await harness.connect(peer: peer())
    let release = users.hang()
    let reply = Task {
      try await connection.answer(CallLine.line("token.get", #"{"provider":"work"}"#))
    }
    try await reached("the call waits for the user database") { users.isAwaited }
    try harness.rule { $0.allow = [try AccessPattern(setting: "account.list")] }
    release()
    #expect(try await reply.value.contains("permission_denied"))
    await harness.end()
  }
}
