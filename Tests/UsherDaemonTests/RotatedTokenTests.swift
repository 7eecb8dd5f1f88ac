import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// The provider has replaced the refresh token, and its reply is flawed.
@Suite(
  "Refresh replies with a new refresh token and an unusable access token", .timeLimit(.minutes(10)))
struct RotatedTokenTests {
  private let provider: ScriptedProvider
  private let fixture: TokenFixture

  init() async throws {
    provider = try await ScriptedProvider()
    fixture = try TokenFixture(of: provider)
  }

  /// Returns the grant as stored on disk.
  private func grant(of record: AccountRecord) throws -> AccountDetails.Grant? {
    let restarted = AccountRepository(
      dependencies: fixture.harness.dependencies, events: EventBus(historyLimit: 1),
      store: fixture.harness.store)
    return try restarted.find(record.id)?.details.grant
  }

  @Test(
    "the new refresh token of an otherwise flawed refresh reply replaces the old one",
    arguments: [
      #"{"access_token": "access-2", "refresh_token": "refresh-2"}"#,
      #"{"access_token": "access-2", "token_type": "DPoP", "refresh_token": "refresh-2"}"#,
      #"{"token_type": "Bearer", "refresh_token": "refresh-2"}"#,
      """
      {"access_token": "access-2", "token_type": "Bearer", "refresh_token": "refresh-2", \
      "scope": "openid", "scope": "openid"}
      """,
    ])
  func kept(reply: String) async throws {
    try await fixture.closing(provider) {
      let record = try await fixture.signIn()
      provider.answerRefreshes(reply)
      let call = TokenGet(account: record.id, forceRefresh: true)
      #expect(await fixture.outcome(call) == "provider_protocol_error")
      let grant = fixture.repository.record(record.id)?.details.grant
      #expect(grant?.refreshToken == Sealed(Secret("refresh-2")))
      #expect(try self.grant(of: record)?.refreshToken == Sealed(Secret("refresh-2")))
      #expect(grant?.death == nil)
    }
  }

  @Test(
    "an error reply, or one without a new usable refresh token, keeps the old one",
    arguments: [
      #"{"access_token": "access-2", "refresh_token": "refresh-1"}"#,
      #"{"access_token": "access-2"}"#, #"{"access_token": "access-2", "refresh_token": ""}"#,
      #"{"access_token": "access-2", "refresh_token": "refresh 2"}"#,
      #"{"error": "server_error", "refresh_token": "refresh-2"}"#, "<html>",
    ])
  func unchanged(reply: String) async throws {
    try await fixture.closing(provider) {
      let record = try await fixture.signIn()
      provider.answerRefreshes(reply)
      _ = await fixture.outcome(TokenGet(account: record.id, forceRefresh: true))
      let grant = fixture.repository.record(record.id)?.details.grant
      #expect(grant?.refreshToken == Sealed(Secret("refresh-1")))
      #expect(grant?.death == nil)
    }
  }

  @Test(
    "a refresh reply with an empty error member or a byte order mark is accepted",
    arguments: [
      ("", #", "error": """#), ("\u{FEFF}", ""),
    ])
  func noFlaw(mark: String, more: String) async throws {
    try await fixture.closing(provider) {
      let record = try await fixture.signIn()
      provider.answerRefreshes(
        """
        \(mark){"access_token": "access-2", "token_type": "Bearer", "expires_in": 900, \
        "refresh_token": "refresh-2", "scope": "openid profile"\(more)}
        """)
      let call = TokenGet(account: record.id, forceRefresh: true)
      #expect(await fixture.outcome(call) == "access-2")
      #expect(try grant(of: record)?.refreshToken == Sealed(Secret("refresh-2")))
    }
  }

  @Test("after account.forget, a new refresh token in a flawed reply is queued for revocation")
  func forgotten() async throws {
    try await fixture.closing(provider) {
      let record = try await fixture.signIn()
      let call = TokenGet(account: record.id, forceRefresh: true)
      let refresh = Task { [fixture] in await fixture.outcome(call) }
      try await reached("the refresh is sent") { provider.refreshes == 1 }
      _ = try await fixture.tokens.forget(AccountForget(account: record.id), .program())
      provider.answerRevocations(status: 503)
      provider.answerRefreshes(#"{"access_token": "access-2", "refresh_token": "refresh-2"}"#)
      try await reached("the revocation of refresh-2 is stored") {
        try fixture.harness.tokensToRevoke().contains("refresh-2")
      }
      #expect(await refresh.value == "provider_protocol_error")
    }
  }
}
