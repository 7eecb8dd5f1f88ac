import Logging
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// The provider answers a refresh after the account has changed.
@Suite("Late replies to refreshes", .mayBlock, .timeLimit(.minutes(10)))
struct LateRefreshTests {
  enum Change: CaseIterable {
    case forgotten, dropped, replaced
  }

  private static let successor = """
    {"access_token": "access-2", "token_type": "Bearer", "expires_in": 900, \
    "refresh_token": "refresh-2", "scope": "openid profile"}
    """

  /// Has an ID token of `https://evil.example` for `usher` and `usr_anna`.
  private static let foreign = """
    {"access_token": "access-2", "token_type": "Bearer", "expires_in": 900, \
    "refresh_token": "refresh-2", "scope": "openid profile", \
    "id_token": "eyJhbGciOiJub25lIn0.\
    eyJpc3MiOiJodHRwczovL2V2aWwuZXhhbXBsZSIsImF1ZCI6InVzaGVyIiwic3ViIjoidXNyX2FubmEifQ.c2ln"}
    """

  private let provider: ScriptedProvider
  private let fixture: TokenFixture
  private let log = LoggedLines()

  init() async throws {
    provider = try await ScriptedProvider()
    fixture = try TokenFixture(of: provider, log: Logger(label: "test") { [log] _ in log }) {
      $0.revokeReplaced = true
    }
  }

  /// Starts a forced refresh and returns once it is sent and before it is answered.
  private func beginRefresh(of record: AccountRecord) async throws -> Task<String, Never> {
    let call = TokenGet(account: record.id, forceRefresh: true)
    let refresh = Task { [fixture] in await fixture.outcome(call) }
    try await reached("the refresh is sent") { provider.refreshes == 1 }
    return refresh
  }

  private func signInAnew() async throws {
    let now = fixture.clock.now()
    let tokens = TokenSet.sample(
      "access-9", refreshToken: "refresh-9", expiresAt: now + .seconds(300),
      scope: "openid profile")
    try await fixture.repository.persist(.sample(tokens: tokens))
  }

  @Test(
    "tokens from a late refresh of a changed account are revoked, if need be by the next start",
    arguments: Change.allCases)
  func overtaken(by change: Change) async throws {
    try await fixture.closing(provider) {
      let record = try await fixture.signIn()
      let refresh = try await beginRefresh(of: record)
      switch change {
      case .forgotten:
        _ = try await fixture.tokens.forget(AccountForget(account: record.id), .program())
      case .dropped:
        _ = try await fixture.tokens.revoke(TokenRevoke(account: record.id), .program())
      case .replaced: try await signInAnew()
      }
      provider.answerRevocations(status: 503)
      provider.answerRefreshes(Self.successor)
      try await reached("the revocation of refresh-2 is stored") {
        try fixture.harness.tokensToRevoke().contains("refresh-2")
      }
      #expect(await refresh.value == (change == .replaced ? "access-9" : "conflict"))
      provider.answerRevocations(status: 200)
      let next = RevocationQueue(
        dependencies: fixture.harness.dependencies, store: fixture.harness.store,
        source: fixture.source)
      try await next.restore()
      await next.resume()
      try await reached("refresh-2 is revoked; revoked so far: \(provider.revoked)") {
        fixture.harness.scheduler.advance(by: .seconds(1))
        return try provider.revoked.contains("refresh-2")
          && fixture.harness.tokensToRevoke().isEmpty
      }
      #expect(!provider.revoked.contains("refresh-9"))
    }
  }

  @Test(
    "a late token of the client itself is revoked if the account was forgotten or lost its tokens",
    arguments: [Change.forgotten, .dropped])
  func clientOvertaken(by change: Change) async throws {
    let fixture = try TokenFixture(of: provider) { $0.clientCredentialsGrant = true }
    try await fixture.closing(provider) {
      var grant = AccountGrant.sample(
        "usher",
        tokens: .sample(refreshToken: nil, expiresAt: fixture.clock.now() + .seconds(300)))
      grant.isOfClient = true
      let record = try await fixture.repository.persist(grant)
      let call = TokenGet(account: record.id, forceRefresh: true)
      let refresh = Task { await fixture.outcome(call) }
      try await reached("the request is sent") { provider.refreshes == 1 }
      if change == .forgotten {
        _ = try await fixture.tokens.forget(AccountForget(account: record.id), .program())
      } else {
        _ = try await fixture.tokens.revoke(TokenRevoke(account: record.id), .program())
      }
      provider.answerRefreshes(Self.successor)
      #expect(await refresh.value == "conflict")
      try await reached("access-2 is revoked; revoked so far: \(provider.revoked)") {
        fixture.harness.scheduler.advance(by: .seconds(1))
        return try provider.revoked.contains("access-2")
          && fixture.harness.tokensToRevoke().isEmpty
      }
      // The text that identifies the grant is sent to nobody.
      #expect(!provider.revoked.contains { $0.hasPrefix("grant_") })
      let later = await fixture.outcome(TokenGet(account: record.id))
      #expect(later == (change == .forgotten ? "not_found" : "reauthentication_required"))
      #expect(provider.refreshes == 1)
    }
  }

  @Test("a flow whose consent is revoked while its token is refreshed sends no call")
  func consentRevoked() async throws {
    try await fixture.closing(provider) {
      let (repository, harness) = (fixture.repository, fixture.harness)
      let record = try await repository.persist(
        .consented(
          nil, granted: ["email"],
          tokens: .sample(expiresAt: fixture.clock.now() + .seconds(300), scope: "read.email")),
        client: "till")
      fixture.clock.advance(by: .seconds(300))
      let config = try #require(harness.dependencies.config.providers.first)
      let sending = Task {
        await harness.calls.send(harness.call, of: record.id, for: config, on: "till")
      }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      try await repository.write(
        repository.update(record.id, at: fixture.clock.now()) { _, _ in true }?.update)
      provider.answerRefreshes(
        Self.successor.replacing("openid profile", with: "read.email"))
      #expect(await sending.value == .noToken(message: "the consent was revoked"))
      #expect(harness.probe.seen.isEmpty)
    }
  }

  @Test("tokens that come with an ID token of another issuer get a stored revocation")
  func foreignIDToken() async throws {
    try await fixture.closing(provider) {
      let refresh = try await beginRefresh(of: fixture.signIn())
      provider.answerRevocations(status: 503)
      provider.answerRefreshes(Self.foreign)
      try await reached("the revocation of refresh-2 is stored") {
        try fixture.harness.tokensToRevoke() == ["refresh-2", "access-2"]
      }
      #expect(await refresh.value == "reauthentication_required")
    }
  }

  @Test("a call whose refresh the provider refuses for the old credential gets another refresh")
  func refreshedWithNewCredential() async throws {
    try await fixture.closing(provider) {
      let call = TokenGet(account: try await fixture.signIn().id)
      fixture.clock.advance(by: .seconds(301))
      let refresh = Task { [fixture] in await fixture.outcome(call) }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      await fixture.harness.refresher.providersChanged([.work])
      provider.answerFirstRefresh(#"{"error": "invalid_client"}"#, status: 401)
      provider.answerRefreshes(Self.successor)
      #expect(await refresh.value == "access-2")
      #expect(provider.refreshes == 2)
    }
  }

  @Test("a refusal of the old credential is not remembered if the credential changed meanwhile")
  func refusedOldCredential() async throws {
    try await fixture.closing(provider) {
      let call = TokenGet(account: try await fixture.signIn(seconds: 300).id)
      // The token has 30 s left. The call wants 60 s, but gets this token if the refresh fails.
      fixture.clock.advance(by: .seconds(270))
      let refresh = Task { [fixture] in await fixture.outcome(call) }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      await fixture.harness.refresher.providersChanged([.work])
      provider.answerRefreshes(#"{"error": "invalid_client"}"#, status: 401)
      #expect(await refresh.value == "access-1")
      for _ in 1...2 { #expect(await fixture.outcome(call) == "access-1") }
      #expect(provider.refreshes == 2, "the refusal of the new credential is remembered")
    }
  }

  @Test("a refused refresh ends the grant even if the disk fails meanwhile, and is stored later")
  func refusedWithoutDisk() async throws {
    try await fixture.closing(provider) {
      let record = try await fixture.signIn()
      let refresh = try await beginRefresh(of: record)
      let disk = try FailingDisk(fixture.harness, table: "accounts")
      provider.answerRefreshes(#"{"error": "invalid_grant"}"#, status: 400)
      #expect(await refresh.value == "reauthentication_required")
      let call = TokenGet(account: record.id)
      #expect(await fixture.outcome(call) == "reauthentication_required")
      try disk.mend()
      // This call stores the end of the grant.
      #expect(await fixture.outcome(call) == "reauthentication_required")
      let restarted = AccountRepository(
        dependencies: fixture.harness.dependencies, events: EventBus(historyLimit: 1),
        store: fixture.harness.store)
      #expect(try restarted.find(record.id)?.details.grant.death?.code == "invalid_grant")
      #expect(provider.refreshes == 1)
    }
  }

  @Test("tokens that the disk refuses are stored and returned by the next call on a mended disk")
  func grantedWithoutDisk() async throws {
    try await fixture.closing(provider) {
      let call = TokenGet(account: try await fixture.signIn(seconds: 300).id)
      fixture.clock.advance(by: .seconds(301))
      let refresh = Task { [fixture] in await fixture.outcome(call) }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      let disk = try FailingDisk(fixture.harness, table: "accounts")
      provider.answerRefreshes(Self.successor)
      #expect(await refresh.value == "storage_unavailable")
      #expect(await fixture.outcome(call) == "storage_unavailable")
      try disk.mend()
      #expect(await fixture.outcome(call) == "access-2")
      #expect(provider.refreshes == 1)
    }
  }

  @Test("tokens that the disk refused until they ended are stored and refreshed, not handed out")
  func endedWithoutDisk() async throws {
    try await fixture.closing(provider) {
      let call = TokenGet(account: try await fixture.signIn(seconds: 300).id)
      fixture.clock.advance(by: .seconds(301))
      let refresh = Task { [fixture] in await fixture.outcome(call) }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      let disk = try FailingDisk(fixture.harness, table: "accounts")
      provider.answerRefreshes(Self.successor)
      #expect(await refresh.value == "storage_unavailable")
      try disk.mend()
      fixture.clock.advance(by: .seconds(901))
      provider.answerRefreshes(Self.successor.replacing("-2", with: "-3"))
      #expect(await fixture.outcome(call) == "access-3")
      #expect(provider.refreshes == 2)
    }
  }

  @Test("a token that has ended when its reply arrives is refreshed again, not handed out")
  func endedOnArrival() async throws {
    try await fixture.closing(provider) {
      let call = TokenGet(account: try await fixture.signIn(seconds: 300).id)
      fixture.clock.advance(by: .seconds(301))
      let refresh = Task { [fixture] in await fixture.outcome(call) }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      fixture.clock.advance(by: .seconds(901))
      provider.answerFirstRefresh(Self.successor, status: 200)
      provider.answerRefreshes(Self.successor.replacing("-2", with: "-3"))
      #expect(await refresh.value == "access-3")
      #expect(provider.refreshes == 2)
    }
  }

  @Test("a provider whose tokens have ended twice when its reply arrives is not asked again")
  func endedTwice() async throws {
    try await fixture.closing(provider) {
      let call = TokenGet(account: try await fixture.signIn(seconds: 300).id)
      fixture.clock.advance(by: .seconds(301))
      provider.beforeRefreshReply { [fixture] in fixture.clock.advance(by: .seconds(901)) }
      provider.answerRefreshes(Self.successor)
      #expect(await fixture.outcome(call) == "provider_unreachable")
      #expect(provider.refreshes == 2)
    }
  }

  @Test(
    "the token of a sign-in during a refresh is refreshed if it has ended before the late reply",
    arguments: [(200, successor), (400, #"{"error": "invalid_grant"}"#)])
  func endedSignIn(status: Int, reply: String) async throws {
    try await fixture.closing(provider) {
      let refresh = try await beginRefresh(of: fixture.signIn())
      try await signInAnew()
      fixture.clock.advance(by: .seconds(301))
      provider.answerFirstRefresh(reply, status: status)
      provider.answerRefreshes(Self.successor.replacing("-2", with: "-3"))
      #expect(await refresh.value == "access-3")
      #expect(provider.refreshes == 2)
    }
  }

  @Test("a token without a lifetime is handed out to the caller that waits for it")
  func withoutLifetime() async throws {
    try await fixture.closing(provider) {
      let call = TokenGet(account: try await fixture.signIn(seconds: 300).id)
      fixture.clock.advance(by: .seconds(301))
      let refresh = Task { [fixture] in await fixture.outcome(call) }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      fixture.clock.advance(by: .seconds(2))
      provider.answerRefreshes(Self.successor.replacing("900", with: "0"))
      #expect(await refresh.value == "access-2")
      #expect(provider.refreshes == 1)
    }
  }

  @Test("stored tokens that end sooner than the caller needs are refreshed")
  func endingWithoutDisk() async throws {
    try await fixture.closing(provider) {
      let call = TokenGet(account: try await fixture.signIn(seconds: 300).id)
      fixture.clock.advance(by: .seconds(301))
      let refresh = Task { [fixture] in await fixture.outcome(call) }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      let disk = try FailingDisk(fixture.harness, table: "accounts")
      provider.answerRefreshes(Self.successor)
      #expect(await refresh.value == "storage_unavailable")
      try disk.mend()
      // The token has 30 s left. The call wants 60 s.
      fixture.clock.advance(by: .seconds(870))
      provider.answerRefreshes(Self.successor.replacing("-2", with: "-3"))
      #expect(await fixture.outcome(call) == "access-3")
      #expect(provider.refreshes == 2)
    }
  }

  @Test("a call for a part of the scope stores the tokens that the disk refused, and goes on")
  func otherScopeWithoutDisk() async throws {
    let fixture = try TokenFixture(of: provider, log: Logger(label: "test") { [log] _ in log }) {
      $0.narrowRefresh = true
    }
    try await fixture.closing(provider) {
      let record = try await fixture.signIn(seconds: 300)
      fixture.clock.advance(by: .seconds(301))
      let refresh = Task { await fixture.outcome(TokenGet(account: record.id)) }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      let disk = try FailingDisk(fixture.harness, table: "accounts")
      provider.answerRefreshes(Self.successor)
      #expect(await refresh.value == "storage_unavailable")
      try disk.mend()
      provider.answerRefreshes(
        Self.successor.replacing("-2", with: "-3").replacing("openid profile", with: "openid"))
      #expect(await fixture.outcome(TokenGet(account: record.id, scope: "openid")) == "access-3")
      #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-2")
      #expect(provider.refreshes == 2)
    }
  }

  @Test("a call whose scope the stored tokens no longer have is refused after they are stored")
  func narrowedWithoutDisk() async throws {
    try await fixture.closing(provider) {
      let call = TokenGet(account: try await fixture.signIn(seconds: 300).id)
      fixture.clock.advance(by: .seconds(301))
      let refresh = Task { [fixture] in await fixture.outcome(call) }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      let disk = try FailingDisk(fixture.harness, table: "accounts")
      provider.answerRefreshes(Self.successor.replacing("openid profile", with: "openid"))
      #expect(await refresh.value == "storage_unavailable")
      try disk.mend()
      // The stored token has ended, and a refresh would not bring the rest of the scope back.
      fixture.clock.advance(by: .seconds(901))
      #expect(await fixture.outcome(call) == "consent_required")
      #expect(provider.refreshes == 1)
    }
  }

  @Test("an ID token of another issuer in a refresh is explained in the log")
  func explained() async throws {
    try await fixture.closing(provider) {
      let refresh = try await beginRefresh(of: fixture.signIn())
      provider.answerRefreshes(Self.foreign)
      #expect(await refresh.value == "reauthentication_required")
      #expect(
        log.all.contains { $0.contains("a refresh returned an ID token that is not valid") },
        "\(log.all)")
      #expect(
        log.causes.contains { $0.contains("found iss https://evil.example") }, "\(log.causes)")
      #expect(!log.all.contains { $0.contains("the provider refuses to refresh") })
    }
  }
}
