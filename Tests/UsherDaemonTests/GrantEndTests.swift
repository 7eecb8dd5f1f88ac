import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A refresh token's expiry is kept on the wall clock, and that clock may have been wrong.
@Suite("A grant past the expiry of its refresh token")
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

  /// Tokens of 300 and 1800 seconds come while the clock is a day behind; then it is set right.
  private func signInTooEarly() async throws -> AccountRecord {
    fixture.clock.advance(by: .zero - Self.day)
    let now = fixture.clock.now()
    let tokens = TokenSet.sample(
      expiresAt: now + .seconds(300), refreshExpiresAt: now + .seconds(1800),
      scope: "openid profile")
    let record = try await fixture.repository.keep(.sample(tokens: tokens))
    fixture.clock.advance(by: Self.day)
    return record
  }

  @Test("is refreshed: the clock was behind when the tokens came")
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

  @Test("is dead once the provider has refused it, and the provider is asked once")
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

  @Test("is revoked when its account is forgotten")
  func revoked() async throws {
    try await fixture.closing(provider) {
      let record = try await signInTooEarly()
      let reply = try await fixture.tokens.forget(AccountForget(account: record.id), .program())
      #expect(reply.revoked == .done)
      #expect(provider.revoked == ["refresh-1"])
    }
  }

  @Test("has no known end after a refresh that brings none")
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
