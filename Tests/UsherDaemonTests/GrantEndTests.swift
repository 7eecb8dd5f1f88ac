import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A refresh token's expiry is stored as wall-clock time, and the clock may have been wrong.
@Suite("Grants past the expiry of their refresh token", .timeLimit(.minutes(10)))
struct GrantEndTests {
  private static let day = Duration.seconds(86_400)
  private static let successor = """
    {"access_token": "access-2", "token_type": "Bearer", "expires_in": 900, \
    "refresh_token": "refresh-2", "scope": "openid profile"}
    """

  private let provider: ScriptedProvider
  private let fixture: TokenFixture

  init() async throws {
    provider = try await ScriptedProvider()
    fixture = try TokenFixture(of: provider)
  }

  /// Stores tokens of 300 s and 1800 s while the clock is a day behind, then corrects the clock.
  private func signInTooEarly() async throws -> AccountRecord {
    fixture.clock.advance(by: .zero - Self.day)
    let now = fixture.clock.now()
    let tokens = TokenSet.sample(
      expiresAt: now + .seconds(300), refreshExpiresAt: now + .seconds(1800),
      scope: "openid profile")
    let record = try await fixture.repository.persist(.sample(tokens: tokens))
    fixture.clock.advance(by: Self.day)
    return record
  }

  @Test("a grant past its stored expiry is still refreshed, because the clock may have been behind")
  func refreshed() async throws {
    try await fixture.closing(provider) {
      let record = try await signInTooEarly()
      provider.answerRefreshes(Self.successor)
      #expect(try fixture.status(of: record) == [.refreshable])
      #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-2")
      #expect(try fixture.status(of: record) == [.valid])
      #expect(provider.refreshes == 1)
    }
  }

  @Test("a grant that the provider refuses to refresh is dead, and the provider is asked only once")
  func refused() async throws {
    try await fixture.closing(provider) {
      let record = try await signInTooEarly()
      provider.answerRefreshes(#"{"error": "invalid_grant"}"#, status: 400)
      for isForced in [false, true, false] {
        let call = TokenGet(account: record.id, forceRefresh: isForced)
        #expect(await fixture.outcome(call) == "reauthentication_required")
      }
      #expect(provider.refreshes == 1)
      #expect(try fixture.status(of: record) == [.dead])
    }
  }

  @Test("account.forget revokes a refresh token past its stored expiry at the provider")
  func revoked() async throws {
    try await fixture.closing(provider) {
      let record = try await signInTooEarly()
      let reply = try await fixture.tokens.forget(AccountForget(account: record.id), .program())
      #expect(reply.revoked == .done)
      #expect(provider.revoked == ["refresh-1"])
    }
  }

  @Test("a refresh without a refresh token removes the grant's stored expiry")
  func forgottenEnd() async throws {
    try await fixture.closing(provider) {
      let record = try await signInTooEarly()
      try await fixture.refreshed(
        record,
        .sample(
          "access-2", refreshToken: nil, expiresAt: fixture.clock.now() + .seconds(900),
          scope: "openid profile"))
      let grant = fixture.repository.record(record.id)?.details.grant
      #expect(grant?.refreshToken == Sealed(Secret("refresh-1")))
      #expect(grant?.refreshExpiresAt == nil)
    }
  }
}
