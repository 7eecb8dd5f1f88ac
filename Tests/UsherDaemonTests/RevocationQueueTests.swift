import JSONRPC
import Logging
import Synchronization
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Keeps what the audit is told.
private final class RecordedAudit: Auditing {
  private let notes = Mutex<[AuditEvent]>([])

  var outcomes: [String] {
    notes.withLock { $0.map { "\($0.method) \($0.failure?.rawValue ?? "ok")" } }
  }

  func admit() throws(UsherError) {}
  func note(_ note: AuditEvent, by caller: AuditedCaller) { notes.withLock { $0.append(note) } }
  func again(_ call: inout AuditRepeat, at now: Timestamp) -> Bool { true }
}

/// The provider of the fixture cannot be reached.
@Suite("A revocation that goes on in the background")
struct RevocationQueueTests {
  private let fixture: TokenFixture
  private let audit = RecordedAudit()
  private let asker = Revocation.Asker(client: "till", uid: 1000, gid: 1000)

  init() throws { fixture = try TokenFixture() }

  private func queue() -> RevocationQueue {
    RevocationQueue(
      dependencies: fixture.harness.dependencies, store: fixture.harness.store,
      source: fixture.source,
      audit: audit,
      log: .silent)
  }

  private var notes: Int {
    get throws { try fixture.harness.store.loadNotes(named: Revocation.notePrefix).count }
  }

  private func revocation() async throws -> Revocation {
    let record = try await fixture.signIn()
    let revocation = Revocation(of: record, by: asker, fixture.harness.dependencies)
    try await fixture.harness.store.commit([.putNote(try revocation.row())])
    return revocation
  }

  @Test("ends after its time, also across restarts, and the audit has the end")
  func deadline() async throws {
    let begun = fixture.clock.now()
    let first = queue()
    await first.pursue(try await revocation())
    while fixture.clock.now() - begun < Revocation.patience / 2 {
      fixture.harness.scheduler.advance(by: RevocationQueue.longestPause)
    }
    await first.stop()
    #expect(try notes == 1 && audit.outcomes.isEmpty)
    let second = queue()
    try await second.restore()
    await second.resume()
    try await reached("the end: \(audit.outcomes)") {
      fixture.harness.scheduler.advance(by: RevocationQueue.longestPause)
      return try notes == 0
    }
    #expect(audit.outcomes == ["token.revocation deadline_exceeded"])
    #expect(fixture.clock.now() - begun >= Revocation.patience)
    await fixture.close()
  }

  @Test("is one of 64 of its owner at most; of the next one the audit has that nobody goes on")
  func bounded() async throws {
    let queue = queue()
    let record = try await fixture.signIn()
    // Each revocation has an id of its own; the fixture's entropy repeats after 32 of them.
    let dependencies = Dependencies(
      configStore: fixture.harness.dependencies.configStore, clock: fixture.clock,
      entropy: SystemEntropy(),
      scheduler: fixture.harness.scheduler)
    // An operator's are not limited, and do not take from the owner's.
    let root = Revocation.Asker(client: "admin", uid: 0, gid: 0)
    for _ in 0...RevocationQueue.mostPerOwner {
      await queue.pursue(Revocation(of: record, by: root, dependencies))
    }
    for _ in 0..<RevocationQueue.mostPerOwner {
      await queue.pursue(Revocation(of: record, by: asker, dependencies))
    }
    #expect(audit.outcomes.isEmpty)
    await queue.pursue(Revocation(of: record, by: asker, dependencies))
    #expect(audit.outcomes == ["token.revocation rate_limited"])
    await queue.stop()
    await fixture.close()
  }

  @Test("has its time by the clock that nobody sets")
  func clocks() async throws {
    fixture.clock.setBootTime(BootTime(boot: "a", milliseconds: 1000))
    let begun = fixture.clock.now()
    var revocation = try await revocation()
    revocation.tokens.removeAll { $0.kind == .accessToken }
    func left(after seconds: Int, _ boot: String, _ milliseconds: Int64) -> Duration {
      revocation.timeLeft(
        at: begun + .seconds(seconds), BootTime(boot: boot, milliseconds: milliseconds))
    }
    #expect(left(after: 0, "a", 3_601_000) == Revocation.patience - .seconds(3600))
    #expect(left(after: -86_400, "a", 86_401_000) == .zero)
    #expect(left(after: 900_000, "a", 1000) == Revocation.patience)
    // After another start of the machine there is the wall clock only.
    #expect(left(after: 3600, "b", 5) == Revocation.patience - .seconds(3600))
    #expect(left(after: -3600, "b", 5) == Revocation.patience)
    // A start in the future is distrusted once, from then on.
    let isDistrusted = (1...2).map { _ in
      revocation.distrustFuture(at: begun - .seconds(3600), nil)
    }
    #expect(isDistrusted == [true, false])
    #expect(
      revocation.timeLeft(at: begun, nil) == Revocation.patience - .seconds(3600))
    await fixture.close()
  }

  @Test("ends when the tokens have expired")
  func expired() async throws {
    var revocation = try await revocation()
    revocation.tokens.removeAll { $0.kind == .refreshToken }
    #expect(revocation.lifetime(at: fixture.clock.now()) == .seconds(300))
    await fixture.close()
  }

  /// A fixture whose provider answers, and a revocation of its tokens that is on disk.
  private func answered(
    _ provider: ScriptedProvider
  ) async throws -> (fixture: TokenFixture, revocation: Revocation) {
    let fixture = try TokenFixture(of: provider)
    let revocation = Revocation(
      of: try await fixture.signIn(), by: asker, fixture.harness.dependencies)
    try await fixture.harness.store.commit([.putNote(try revocation.row())])
    return (fixture, revocation)
  }

  @Test("waits for its provider where a reload has taken that out of the configuration")
  func unconfigured() async throws {
    let provider = try await ScriptedProvider()
    let (fixture, revocation) = try await answered(provider)
    try await fixture.closing(provider) {
      let (harness, source) = (fixture.harness, fixture.source)
      let configStore = ConfigStore.fake(Config())
      let queue = RevocationQueue(
        dependencies: harness.dependencies, store: harness.store,
        source: TokenSource(
          dependencies: harness.dependencies, providers: Providers(configStore), http: source.http,
          metadata: source.metadata, health: source.health),
        audit: audit, log: .silent)
      await queue.pursue(revocation)
      try await harness.scheduler.isSet(.zero)
      harness.scheduler.advance(by: .zero)
      try await reached("it waits: \(audit.outcomes)") {
        harness.scheduler.pending.contains(.seconds(2))
      }
      #expect(try harness.tokensToRevoke() == ["refresh-1", "access-1"])
      configStore.replace(by: harness.dependencies.config, configStore.current.policy)
      harness.scheduler.advance(by: .seconds(2))
      try await reached("the end: \(audit.outcomes)") { try harness.tokensToRevoke().isEmpty }
      #expect(audit.outcomes == ["token.revocation ok"])
      #expect(provider.revoked == ["refresh-1", "access-1"])
    }
  }

  @Test("asks once more where the machine was off for longer than its time")
  func longOff() async throws {
    let provider = try await ScriptedProvider()
    let (fixture, _) = try await answered(provider)
    try await fixture.closing(provider) {
      let harness = fixture.harness
      harness.clock.advance(by: Revocation.patience + .seconds(3600))
      let queue = RevocationQueue(
        dependencies: harness.dependencies, store: harness.store, source: fixture.source,
        audit: audit,
        log: .silent)
      try await queue.restore()
      await queue.resume()
      try await reached("the end: \(audit.outcomes)") {
        harness.scheduler.advance(by: .zero)
        return try harness.tokensToRevoke().isEmpty
      }
      #expect(audit.outcomes == ["token.revocation ok"])
      #expect(provider.revoked == ["refresh-1"])
    }
  }

  @Test("keeps no attribute of the account but those that the provider's calls need")
  func attributes() async throws {
    var record = try await fixture.signIn()
    record.details.attributes = [
      "brandIdentity": "b1", "deviceId": "d1", "phone": "+44 20 7946 0000",
    ]
    let revocation = Revocation(of: record, by: asker, fixture.harness.dependencies)
    #expect(
      revocation.record.details.attributes == ["brandIdentity": "b1", "deviceId": "d1"])
    await fixture.close()
  }
}
