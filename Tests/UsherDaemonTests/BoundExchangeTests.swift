import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

@Suite("Token exchange for tokens that are bound to a key", .mayBlock, .timeLimit(.minutes(10)))
struct BoundExchangeTests {
  private static let refreshed = """
    {"access_token": "access-2", "token_type": "DPoP", "expires_in": 900, \
    "refresh_token": "refresh-2", "scope": "openid profile"}
    """
  private static let exchanged = """
    {"access_token": "access-3", "token_type": "DPoP", "expires_in": 300, \
    "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
    """

  @Test("a token from before the setting dpop is refreshed, and so bound, before it is exchanged")
  func upgrade() async throws {
    let provider = try await ScriptedProvider()
    let fixture = try TokenFixture(of: provider) { settings in
      settings.dpop = true
      settings.audienceParameter = .audience
      settings.tokenExchange = true
    }
    try await fixture.closing(provider) {
      provider.answerFirstRefresh(Self.refreshed, status: 200)
      provider.answerRefreshes(Self.exchanged)
      let record = try await fixture.signIn()
      let call = TokenGet(account: record.id, audience: "mail")
      #expect(await fixture.outcome(call) == "access-3")
      #expect(provider.refreshes == 2)
      let bound = try #require(fixture.repository.record(record.id))
      #expect(bound.details.grant.dpopKey != nil)
      #expect(bound.tokens[bound.mainKey]?.set.tokenType == "DPoP")
      #expect(await fixture.outcome(call) == "access-3")
      #expect(provider.refreshes == 2)
    }
  }
}
