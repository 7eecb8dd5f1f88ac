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

/// Records audit events.
private final class RecordedAudit: Sendable {
  private let events = Mutex<[AuditEvent]>([])

  var outcomes: [String] {
    events.withLock { $0.map { "\($0.method) \($0.failure?.rawValue ?? "ok")" } }
  }

  func record(_ event: AuditEvent, by caller: AuditedCaller) {
    events.withLock { $0.append(event) }
  }
}

/// The fixture's provider cannot be reached.
@Suite("Revocations in the background", .timeLimit(.minutes(10)))
struct RevocationQueueTests {
  private let fixture: TokenFixture
  private let audit = RecordedAudit()
  private let asker = Revocation.Asker(client: "till", uid: 1000, gid: 1000)

  init() throws { fixture = try TokenFixture() }

  private func queue() -> RevocationQueue {
    RevocationQueue(
      dependencies: fixture.harness.dependencies, store: fixture.harness.store,
      source: fixture.source,
      record: audit.record)
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

  @Test("an unsuccessful revocation ends after its time limit, over restarts, and is audited")
  func deadline() async throws {
    let begun = fixture.clock.now()
    let first = queue()
    await first.revokeInBackground(try await revocation())
    while fixture.clock.now() - begun < Revocation.retryPeriod / 2 {
      fixture.harness.scheduler.advance(by: RevocationQueue.maxPause)
    }
    await first.stop()
    #expect(try notes == 1 && audit.outcomes.isEmpty)
    let second = queue()
    try await second.restore()
    await second.resume()
    try await reached("it has ended: \(audit.outcomes)") {
      fixture.harness.scheduler.advance(by: RevocationQueue.maxPause)
      return try notes == 0
    }
    #expect(audit.outcomes == ["token.revocation deadline_exceeded"])
    #expect(fixture.clock.now() - begun >= Revocation.retryPeriod)
    await fixture.close()
  }

  @Test("an owner may have 64 pending revocations, and the next is audited as rate_limited")
  func bounded() async throws {
    let queue = queue()
    let record = try await fixture.signIn()
    // Each revocation needs a distinct id, and the fixture's entropy repeats after 32 of them.
    let dependencies = Dependencies(
      configStore: fixture.harness.dependencies.configStore, clock: fixture.clock,
      entropy: SystemEntropy(),
      scheduler: fixture.harness.scheduler, processors: 2, log: .silent)
    // An administrator's revocations are not limited and do not count for the owner.
    let root = Revocation.Asker(client: "admin", uid: 0, gid: 0)
    for _ in 0...RevocationQueue.maxPerOwner {
      await queue.revokeInBackground(Revocation(of: record, by: root, dependencies))
    }
    for _ in 0..<RevocationQueue.maxPerOwner {
      await queue.revokeInBackground(Revocation(of: record, by: asker, dependencies))
    }
    #expect(audit.outcomes.isEmpty)
    await queue.revokeInBackground(Revocation(of: record, by: asker, dependencies))
    #expect(audit.outcomes == ["token.revocation rate_limited"])
    await queue.stop()
    await fixture.close()
  }

  @Test("the tokens of an account that two calls forget at once are revoked once")
  func forgottenTwice() async throws {
    let record = try await fixture.signIn()
    // Both calls have read the account before the first of them deletes it.
    for _ in 1...2 {
      _ = try await fixture.tokens.revoker.forget(record, revoke: true, by: asker)
    }
    #expect(try notes == 1)
    await fixture.harness.revocations.stop()
    await fixture.close()
  }

  @Test("a revocation's time limit follows the boot clock, and the wall clock after a reboot")
  func clocks() async throws {
    fixture.clock.setBootTime(BootTime(boot: "a", milliseconds: 1000))
    let begun = fixture.clock.now()
    var revocation = try await revocation()
    revocation.tokens.removeAll { $0.kind == .accessToken }
    func left(after seconds: Int, _ boot: String, _ milliseconds: Int64) -> Duration {
      revocation.timeLeft(
        at: begun + .seconds(seconds), BootTime(boot: boot, milliseconds: milliseconds))
    }
    #expect(left(after: 0, "a", 3_601_000) == Revocation.retryPeriod - .seconds(3600))
    #expect(left(after: -86_400, "a", 86_401_000) == .zero)
    #expect(left(after: 900_000, "a", 1000) == Revocation.retryPeriod)
    // After a reboot only the wall clock is known.
    #expect(left(after: 3600, "b", 5) == Revocation.retryPeriod - .seconds(3600))
    #expect(left(after: -3600, "b", 5) == Revocation.retryPeriod)
    // A start time in the future is corrected once.
    let isDistrusted = (1...2).map { _ in
      revocation.restartIfClockWentBack(at: begun - .seconds(3600), nil)
    }
    #expect(isDistrusted == [true, false])
    #expect(
      revocation.timeLeft(at: begun, nil) == Revocation.retryPeriod - .seconds(3600))
    await fixture.close()
  }

  @Test("a revocation of an access token lasts no longer than the token")
  func expired() async throws {
    var revocation = try await revocation()
    revocation.tokens.removeAll { $0.kind == .refreshToken }
    #expect(revocation.lifetime(at: fixture.clock.now()) == .seconds(300))
    await fixture.close()
  }

  /// A fixture with a provider that replies, and a stored revocation of its tokens.
  private func answered(
    _ provider: ScriptedProvider
  ) async throws -> (fixture: TokenFixture, revocation: Revocation) {
    let fixture = try TokenFixture(of: provider)
    let revocation = Revocation(
      of: try await fixture.signIn(), by: asker, fixture.harness.dependencies)
    try await fixture.harness.store.commit([.putNote(try revocation.row())])
    return (fixture, revocation)
  }

  @Test("a revocation waits while a reload has removed its provider")
  func unconfigured() async throws {
    let provider = try await ScriptedProvider()
    let (fixture, revocation) = try await answered(provider)
    try await fixture.closing(provider) {
      let (harness, source) = (fixture.harness, fixture.source)
      let configStore = ConfigStore.fake(Config())
      let dependencies = Dependencies(
        configStore: configStore, clock: harness.clock, entropy: FixedEntropy(),
        scheduler: harness.scheduler, processors: 2, log: .silent)
      let queue = RevocationQueue(
        dependencies: harness.dependencies, store: harness.store,
        source: TokenSource(
          dependencies: dependencies, http: source.http, metadata: source.metadata,
          verifier: source.verifier, health: source.health, identities: source.identities),
        record: audit.record)
      await queue.revokeInBackground(revocation)
      try await harness.scheduler.isSet(.zero)
      harness.scheduler.advance(by: .zero)
      try await reached("the revocation waits: \(audit.outcomes)") {
        harness.scheduler.pending.contains(.seconds(2))
      }
      #expect(try harness.tokensToRevoke() == ["refresh-1", "access-1"])
      configStore.replace(by: harness.dependencies.config, configStore.current.policy)
      harness.scheduler.advance(by: .seconds(2))
      try await reached("it has ended: \(audit.outcomes)") { try harness.tokensToRevoke().isEmpty }
      #expect(audit.outcomes == ["token.revocation ok"])
      #expect(provider.revoked == ["refresh-1", "access-1"])
    }
  }

  @Test("a revocation is retried if the refresh that it needs gets no usable reply")
  func unansweredRefresh() async throws {
    let provider = try await ScriptedProvider()
    let (fixture, revocation) = try await answered(provider)
    try await fixture.closing(provider) {
      fixture.clock.advance(by: .seconds(300))
      provider.answerRevocations(status: 401)
      provider.answerRefreshes("", status: 503)
      let result = await fixture.harness.revocations.revoke(revocation)
      #expect(result.living.map(\.why) == [.unreachable] && result.retriedUntil != nil)
      let tokensLeft = try fixture.harness.tokensToRevoke()
      #expect(tokensLeft == ["refresh-1"])
    }
  }

  @Test(
    "a refresh token that a revocation gets while the daemon stops is left to the next start",
    arguments: [true, false])
  func rotatedAtStop(isRetry: Bool) async throws {
    let provider = try await ScriptedProvider()
    let (fixture, revocation) = try await answered(provider)
    try await fixture.closing(provider) {
      let (harness, queue) = (fixture.harness, fixture.harness.revocations)
      // The access token has expired, so the daemon refreshes to get the one that is required.
      fixture.clock.advance(by: .seconds(300))
      provider.answerRevocations(status: 401)
      let call = Task {
        if isRetry {
          await queue.revokeInBackground(revocation)
        } else {
          _ = await queue.revoke(revocation)
        }
      }
      try await reached("the refresh is sent") {
        harness.scheduler.advance(by: .zero)
        return provider.refreshes == 1
      }
      await queue.stop()
      provider.answerRevocations(status: 503)
      provider.answerRefreshes(Self.rotated)
      try await reached("the revocation of refresh-2 is stored") {
        harness.scheduler.advance(by: .milliseconds(250))
        return try harness.tokensToRevoke() == ["refresh-2", "access-2"]
      }
      await call.value
      await queue.waitUntilIdle()
    }
  }

  @Test("a refresh token that a revocation gets is stored before the next request is sent")
  func rotatedWhileDeferred() async throws {
    let provider = try await ScriptedProvider()
    let (fixture, revocation) = try await answered(provider)
    try await fixture.closing(provider) {
      let (harness, queue) = (fixture.harness, fixture.harness.revocations)
      fixture.clock.advance(by: .seconds(300))
      provider.answerRevocations(status: 401)
      let call = Task { await queue.revoke(revocation) }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      provider.answerRevocations(status: 503)
      provider.answerRefreshes(Self.rotated)
      // The revocation of the new token is deferred: no time passes.
      try await harness.scheduler.isSet(.milliseconds(250))
      #expect(try harness.tokensToRevoke() == ["refresh-2", "access-2"])
      // A stop ends the wait, and the next start continues.
      await queue.stop()
      let result = await call.value
      #expect(result.retriedUntil != nil)
      await queue.waitUntilIdle()
      #expect(try harness.tokensToRevoke() == ["refresh-2", "access-2"])
    }
  }

  @Test("a refresh token that comes with an unusable access token is revoked for the old one")
  func rotatedUnusable() async throws {
    let provider = try await ScriptedProvider()
    let (fixture, revocation) = try await answered(provider)
    try await fixture.closing(provider) {
      fixture.clock.advance(by: .seconds(300))
      provider.answerRevocations(status: 401)
      provider.answerRefreshes(#"{"token_type": "mac", "refresh_token": "refresh-2"}"#)
      let result = await fixture.harness.revocations.revoke(revocation)
      #expect(result.living.map(\.why) == [.unreachable] && result.retriedUntil != nil)
      let tokensLeft = try fixture.harness.tokensToRevoke()
      #expect(tokensLeft == ["refresh-2"])
    }
  }

  private static let rotated = """
    {"access_token": "access-2", "token_type": "Bearer", "expires_in": 900, \
    "refresh_token": "refresh-2", "scope": "openid profile"}
    """

  @Test("a revocation is tried once more after the machine was off beyond its time limit")
  func longOff() async throws {
    let provider = try await ScriptedProvider()
    let (fixture, _) = try await answered(provider)
    try await fixture.closing(provider) {
      let harness = fixture.harness
      harness.clock.advance(by: Revocation.retryPeriod + .seconds(3600))
      let queue = RevocationQueue(
        dependencies: harness.dependencies, store: harness.store, source: fixture.source,
        record: audit.record)
      try await queue.restore()
      await queue.resume()
      try await reached("it has ended: \(audit.outcomes)") {
        harness.scheduler.advance(by: .zero)
        return try harness.tokensToRevoke().isEmpty
      }
      #expect(audit.outcomes == ["token.revocation ok"])
      #expect(provider.revoked == ["refresh-1"])
    }
  }

  @Test("a revocation keeps only the account attributes that the provider's calls need")
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
