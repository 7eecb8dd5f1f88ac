import Logging
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A signed-in account of an OpenID provider that does not answer: a call that would be sent fails
/// as `provider_unreachable`.
final class TokenFixture: Sendable {
  let harness: FlowHarness
  let tokens: TokenService
  let accounts: AccountService
  var source: TokenSource { harness.source }
  var clock: FakeClock { harness.clock }
  var repository: AccountRepository { harness.repository }

  init(
    log: Logger = .silent,
    _ change: (inout OIDCSettings) -> Void = { _ in }
  ) throws {
    // Nothing listens at port 9 of the loopback interface.
    var settings = OIDCSettings(
      issuer: try ProviderURL(setting: "http://127.0.0.1:9"), clientID: "usher")
    change(&settings)
    var config = Config()
    config.providers = [ProviderConfig(name: .work, settings: settings)]
    harness = try FlowHarness(config: config, log: log)
    tokens = TokenService(
      dependencies: harness.dependencies, repository: harness.repository,
      refresher: harness.refresher,
      revoker: Revoker(repository: harness.repository, queue: harness.revocations))
    accounts = AccountService(repository: harness.repository, clock: harness.clock)
  }

  /// Stores a sign-in whose token lives for the given time.
  @discardableResult
  func signIn(
    _ accessToken: String = "access-1", scope: String = "openid profile", seconds: Int = 300
  ) async throws -> AccountRecord {
    try await repository.persist(
      .sample(
        tokens: .sample(accessToken, expiresAt: clock.now() + .seconds(seconds), scope: scope)))
  }

  /// Stores the provider's reply to a refresh of the whole grant.
  func refreshed(_ record: AccountRecord, _ tokens: TokenSet) async throws {
    let used = try #require(repository.record(record.id)?.details.grant.refreshToken)
    try await repository.write(
      repository.update(record.id, record.mainKey, granted: tokens, for: used, at: clock.now()))
  }

  /// Returns the access token from `token.get`, or the reason of the error.
  func outcome(_ call: TokenGet) async -> String {
    do {
      let reply = try await tokens.get(call, .program()).reply()
      return String(decoding: reply, as: UTF8.self)
        .split(separator: "\"accessToken\":\"").last.map { String($0.prefix { $0 != "\"" }) } ?? ""
    } catch {
      return (error as? UsherError)?.reason.rawValue ?? "\(error)"
    }
  }

  func refusal(_ call: TokenGet) async throws -> UsherError? {
    await #expect(throws: UsherError.self) { try await self.tokens.get(call, .program()).reply() }
  }

  func status(of record: AccountRecord) throws -> [TokenSummary.Status] {
    try accounts.get(record.id, .program()).account.tokens.map(\.status)
  }

  func close() async { await harness.http.shutdown() }
}

@Suite("Grant shared by all programs", .mayBlock, .timeLimit(.minutes(10)))
struct TokenGrantTests {
  private let fixture: TokenFixture

  init() throws { fixture = try TokenFixture() }

  @Test("token.get for a narrower scope is refused, so that it cannot narrow the shared grant")
  func narrower() async throws {
    let record = try await fixture.signIn()
    for isForced in [false, true] {
      let error = try await fixture.refusal(
        TokenGet(account: record.id, scope: "openid", forceRefresh: isForced))
      #expect(error?.reason == .invalidParams)
      #expect(error?.detail.field == "scope")
    }
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-1")
    await fixture.close()
  }

  @Test("a refresh that returns a narrower scope does not change the scope of the grant")
  func narrowedByProvider() async throws {
    let record = try await fixture.signIn()
    try await fixture.refreshed(
      record,
      .sample(
        "access-2", refreshToken: "refresh-2", expiresAt: fixture.clock.now() + .seconds(900),
        scope: "openid"))
    // The token with the whole scope is used until it expires.
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-1")
    fixture.clock.advance(by: .seconds(301))
    let error = try await fixture.refusal(TokenGet(account: record.id))
    #expect(error?.reason == .consentRequired)
    #expect(error?.detail.next?.account == record.id)
    #expect(fixture.repository.record(record.id)?.details.grant.scope == "openid profile")
    #expect(
      fixture.repository.record(record.id)?.details.grant.refreshToken
        == Sealed(Secret("refresh-2")))
    #expect(await fixture.outcome(TokenGet(account: record.id, scope: "openid")) == "access-2")
    try await fixture.signIn("access-3")
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-3")
    await fixture.close()
  }

  @Test("a second sign-in with a narrower scope keeps the wider grant")
  func narrowerLogIn() async throws {
    let record = try await fixture.signIn()
    try await fixture.signIn("access-2", scope: "openid")
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-1")
    #expect(fixture.repository.record(record.id)?.details.grant.scope == "openid profile")
    // A dead grant is replaced by any sign-in.
    let used = fixture.repository.record(record.id)?.details.grant.refreshToken
    let word = ProviderErrorCode(name: .work, code: "invalid_grant")
    try await fixture.repository.write(
      fixture.repository.update(record.id, endedWith: word, of: used))
    try await fixture.signIn("access-3", scope: "openid")
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-3")
    await fixture.close()
  }

  @Test("a replaced refresh token is revoked, but not one that the provider has issued again")
  func issuedAgain() async throws {
    let fixture = try TokenFixture { $0.revokeReplaced = true }
    try await fixture.signIn()
    try await fixture.signIn("access-2")
    #expect(try fixture.harness.tokensToRevoke().isEmpty)
    let end = fixture.clock.now() + .seconds(300)
    try await fixture.repository.persist(
      .sample(
        tokens: .sample(
          "access-3", refreshToken: "refresh-2", expiresAt: end, scope: "openid profile")))
    #expect(try fixture.harness.tokensToRevoke() == ["refresh-1"])
    await fixture.close()
  }

  @Test("a narrower sign-in replaces the grant if it has the class of authentication it demanded")
  func strongerLogIn() async throws {
    func signIn(_ token: String, scope: String, acr: String, demanding: String?) async throws {
      var grant = AccountGrant.sample(
        tokens: .sample(
          token, refreshToken: "refresh-\(token)",
          expiresAt: fixture.clock.now() + .seconds(300), scope: scope))
      var claims = SignInClaims()
      claims.authenticationClass = acr
      grant.signIn = claims
      grant.signInOptions = SignInOptions(kind: "authorize", acrValues: demanding)
      try await fixture.repository.persist(grant)
    }
    try await signIn("access-1", scope: "openid profile", acr: "silver", demanding: nil)
    let record = try #require(try fixture.repository.accounts(of: .anna).first)
    // The sign-in demands no class, or the account already has it.
    try await signIn("access-2", scope: "openid", acr: "gold", demanding: nil)
    try await signIn("access-3", scope: "openid", acr: "silver", demanding: "silver gold")
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-1")
    try await signIn("access-4", scope: "openid", acr: "gold", demanding: "gold")
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-4")
    let challenge = #"Bearer error="insufficient_user_authentication", acr_values="gold""#
    #expect(
      await fixture.outcome(TokenGet(account: record.id, challenge: challenge)) == "access-4")
    await fixture.close()
  }

  @Test("token.get for a dead grant needs a new sign-in, even with a cached token or forceRefresh")
  func dead() async throws {
    let record = try await fixture.signIn()
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-1")
    let generation = fixture.repository.generation
    let word = ProviderErrorCode(name: .work, code: "invalid_grant")
    try await fixture.repository.write(
      fixture.repository.update(record.id, endedWith: word, of: record.details.grant.refreshToken))
    #expect(fixture.repository.generation != generation, "cached replies must no longer be used")
    for isForced in [false, true, true] {
      let error = try await fixture.refusal(
        TokenGet(account: record.id, forceRefresh: isForced))
      #expect(error?.reason == .reauthenticationRequired)
      #expect(error?.detail.next?.account == record.id)
    }
    #expect(try fixture.status(of: record) == [.dead])
    try await fixture.signIn("access-2")
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-2")
    #expect(try fixture.status(of: record) == [.valid])
    await fixture.close()
  }

  @Test("token.get honours minValidSeconds to the millisecond if the token lives longer")
  func minValidSeconds() async throws {
    let record = try await fixture.signIn(seconds: 300)
    let call = TokenGet(account: record.id, minValidSeconds: 200)
    fixture.clock.advance(by: .seconds(100))
    #expect(try fixture.tokens.get(call, .program()).atOnce != nil)
    fixture.clock.advance(by: .milliseconds(1))
    #expect(try fixture.tokens.get(call, .program()).atOnce == nil, "no refresh must begin")
    await fixture.close()
  }

  @Test("a token issued while the clock was ahead is not returned after the clock was corrected")
  func clockAhead() async throws {
    fixture.clock.advance(by: .seconds(3600 * 24 * 365))
    let record = try await fixture.signIn(seconds: 300)
    let call = TokenGet(account: record.id)
    #expect(try fixture.tokens.get(call, .program()).atOnce != nil)
    fixture.clock.advance(by: .seconds(-3600 * 24 * 365))
    #expect(try fixture.tokens.get(call, .program()).atOnce == nil, "no refresh must begin")
    #expect(await fixture.outcome(call) == "provider_unreachable")
    #expect(try fixture.status(of: record) == [.refreshable])
    await fixture.close()
  }

  @Test("a token's age follows the boot clock, however the wall clock is set")
  func bootTime() async throws {
    fixture.clock.setBootTime(BootTime(boot: "a", milliseconds: 1000))
    // The wall clock is ten minutes ahead.
    fixture.clock.advance(by: .seconds(600))
    let record = try await fixture.signIn(seconds: 300)
    let call = TokenGet(account: record.id, minValidSeconds: 0)
    // Corrected, and eleven minutes later: by the wall clock the token is a minute old.
    fixture.clock.advance(by: .seconds(-600 + 660))
    fixture.clock.setBootTime(BootTime(boot: "a", milliseconds: 661_000))
    #expect(try fixture.tokens.get(call, .program()).atOnce == nil, "no refresh must begin")
    // By the boot clock the token is 100 s old, by the wall clock 60 s. The reply is valid for 200
    // s.
    fixture.clock.setBootTime(BootTime(boot: "a", milliseconds: 101_000))
    guard case .cacheable(let reply) = try fixture.tokens.get(call, .program()) else {
      Issue.record("a token that lives is not handed out")
      return
    }
    #expect(reply.validity.upperBound - fixture.clock.now() == .seconds(200))
    // After a reboot only the wall clock counts. Before its time of issue a token is not valid.
    fixture.clock.setBootTime(BootTime(boot: "b", milliseconds: 661_000))
    #expect(try fixture.tokens.get(call, .program()).atOnce != nil)
    fixture.clock.setBootTime(BootTime(boot: "a", milliseconds: 999))
    #expect(try fixture.tokens.get(call, .program()).atOnce == nil)
    // The boot time of issue is stored with the token.
    let repository = AccountRepository(
      dependencies: fixture.harness.dependencies, events: EventBus(historyLimit: 1),
      store: fixture.harness.store)
    let stored = try repository.find(record.id)
    #expect(
      stored?.tokens[record.mainKey]?.issuedAtBootTime
        == BootTime(boot: "a", milliseconds: 1000))
    await fixture.close()
  }

  @Test("a clock that is set ahead does not allow another forced refresh")
  func forcedAgain() async throws {
    fixture.clock.setBootTime(BootTime(boot: "a", milliseconds: 0))
    let record = try await fixture.signIn()
    let call = TokenGet(account: record.id, forceRefresh: true)
    #expect(await fixture.outcome(call) == "provider_unreachable")
    fixture.clock.advance(by: .seconds(3600))
    #expect(await fixture.outcome(call) == "rate_limited")
    await fixture.close()
  }

  @Test("no refresh is sent while the store fails to write")
  func storeRefuses() async throws {
    let record = try await fixture.signIn(seconds: 300)
    fixture.clock.advance(by: .seconds(301))
    let disk = try FailingDisk(fixture.harness, table: "accounts")
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "storage_unavailable")
    try disk.mend()
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "provider_unreachable")
    await fixture.close()
  }

  @Test("a refresh during the provider's pause fails without writing to the store")
  func pausedProvider() async throws {
    let record = try await fixture.signIn(seconds: 300)
    fixture.clock.advance(by: .seconds(301))
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "provider_unreachable")
    let disk = try FailingDisk(fixture.harness, table: "accounts")
    #expect(await fixture.outcome(TokenGet(account: record.id)) == "provider_unreachable")
    try disk.mend()
    await fixture.close()
  }
}
