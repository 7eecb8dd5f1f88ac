import Testing
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Refreshes that no call asks for, with Paysafe's lifetimes of 900 s and 1800 s.
@Suite("Refresh plan of an account")
struct TokenPlanTests {
  private static let issued = Timestamp(seconds: 1_800_000_000)
  private static let warning = Duration.seconds(300)

  private func record(
    keepAlive: Bool, lifetime: Int? = 900, grantLife: Int? = 1800,
    refreshToken: String? = "refresh-1"
  ) throws -> AccountRecord {
    let clock = FakeClock(Self.issued)
    let dependencies = Dependencies.fake(clock, FakeScheduler(clock))
    let place = try TemporaryDirectory()
    defer { withExtendedLifetime(place) {} }
    let repository = AccountRepository(
      dependencies: dependencies, events: EventBus(historyLimit: 1), store: try place.store(clock))
    let tokens = TokenSet.sample(
      refreshToken: refreshToken, expiresAt: lifetime.map { Self.issued + .seconds($0) },
      refreshExpiresAt: grantLife.map { Self.issued + .seconds($0) })
    return try repository.update(
      .sample(keepAlive: keepAlive, tokens: tokens), owner: .anna, provider: .work,
      at: Self.issued
    ).record
  }

  /// Returns the next action and its time, in seconds after the tokens were issued.
  private func next(
    _ record: AccountRecord, _ progress: TokenPlan.Progress = .init(), age: Int = 0
  ) -> (TokenPlan.Action, Int)? {
    let plan = TokenPlan.next(
      for: record, warning: Self.warning, after: progress, at: Self.issued + .seconds(age))
    return plan.map { ($0.action, Int(($0.at - Self.issued).milliseconds / 1000)) }
  }

  @Test(
    "a keepAlive account is refreshed a tenth of the token's life ahead, at most a minute",
    arguments: [
      // token lifetime, grant lifetime, time of refresh
      (900, 1800, 840), (300, 1800, 270), (20, 1800, 18), (5, 1800, 4), (900, nil, 840),
      // The grant ends before the token, or the token never expires.
      (3600, 1800, 1740), (nil, 1800, 1740),
    ] as [(Int?, Int?, Int)])
  func renewing(lifetime: Int?, grantLife: Int?, at age: Int) throws {
    let record = try record(keepAlive: true, lifetime: lifetime, grantLife: grantLife)
    var progress = TokenPlan.Progress()
    progress.warnedOf = record.details.grant.refreshExpiresAt
    let plan = try #require(next(record, progress))
    #expect(plan == (.renew, age))
  }

  @Test("an account without keepAlive is not refreshed, and its owner is warned 300 s ahead")
  func warning() throws {
    let record = try record(keepAlive: false)
    let end = record.details.grant.refreshExpiresAt
    var progress = TokenPlan.Progress()
    #expect(try #require(next(record, progress)) == (.warn, 1500))
    progress.warnedOf = end
    #expect(next(record, progress) == nil)
    #expect(next(record, progress, age: 1801) == nil)
  }

  @Test(
    "the owner gets one warning per grant before it expires, and another one for a renewed grant")
  func warnedAgain() throws {
    var record = try record(keepAlive: false)
    var progress = TokenPlan.Progress()
    progress.warnedOf = record.details.grant.refreshExpiresAt
    record.details.grant.refreshExpiresAt = Self.issued + .seconds(3600)
    #expect(try #require(next(record, progress)) == (.warn, 3300))
  }

  @Test(
    "a failed refresh is retried after 5, 10, 20, 40, then every 60 s, also past the grant's end")
  func failing() throws {
    let record = try record(keepAlive: true)
    var progress = TokenPlan.Progress()
    var now = 840
    for pause in [5, 10, 20, 40, 60, 60] {
      progress.failed(at: Self.issued + .seconds(now))
      now += pause
      #expect(try #require(next(record, progress, age: now)) == (.renew, now))
    }
    progress.renewed(record, at: Self.issued)
    #expect(progress == TokenPlan.Progress())
    progress.warnedOf = record.details.grant.refreshExpiresAt
    progress.failed(at: Self.issued + .seconds(1801))
    #expect(try #require(next(record, progress, age: 1801)) == (.renew, 1806))
  }

  @Test(
    "tokens that are due at once are refreshed with growing pauses",
    arguments: [(0, 1800), (1, 1800), (900, 1)])
  func dueAtOnce(lifetime: Int, grantLife: Int) throws {
    let record = try record(keepAlive: true, lifetime: lifetime, grantLife: grantLife)
    var progress = TokenPlan.Progress()
    for pause in [5, 10, 20] {
      progress.renewed(record, at: Self.issued)
      #expect(progress.retryAt == Self.issued + .seconds(pause))
    }
    progress.renewed(try self.record(keepAlive: true), at: Self.issued)
    #expect(progress == TokenPlan.Progress())
  }

  @Test("an account without refresh token, with a dead grant or without any expiry needs no action")
  func nothing() throws {
    #expect(next(try record(keepAlive: true, refreshToken: nil)) == nil)
    var dead = try record(keepAlive: true)
    dead.details.grant.death = ProviderErrorCode(name: .work, code: "invalid_grant")
    #expect(next(dead) == nil)
    #expect(next(try record(keepAlive: false, grantLife: nil)) == nil)
    #expect(next(try record(keepAlive: true, lifetime: nil, grantLife: nil)) == nil)
  }
}
