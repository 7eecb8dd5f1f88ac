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

  @Test("no proof is made for a Bearer token of a grant that got its key later")
  func noProof() async throws {
    let fixture = try TokenFixture { $0.dpop = true }
    let record = try await fixture.harness.refresher.bound(try await fixture.signIn())
    #expect(record.details.grant.dpopKey != nil)
    let call = TokenProof(account: record.id, method: "GET", url: "https://api.example/orders")
    let error = await #expect(throws: UsherError.self) {
      try await fixture.tokens.proof(call, of: record, .program(), within: nil).reply()
    }
    #expect(error?.reason == .invalidParams && error?.message.contains("of type Bearer") == true)
    await fixture.close()
  }

  @Test("the key of a refresh in progress is not given to the grant of a later sign-in")
  func overtaken() async throws {
    let fixture = try TokenFixture { $0.dpop = true }
    let before = try await fixture.signIn()
    let now = fixture.clock.now()
    try await fixture.repository.persist(
      .sample(
        tokens: .sample(
          "access-9", refreshToken: "refresh-9", expiresAt: now + .seconds(300),
          scope: "openid profile")))
    #expect(try await fixture.harness.refresher.bound(before).details.grant.dpopKey == nil)
    let record = try #require(fixture.repository.record(before.id))
    #expect(record.details.grant.dpopKey == nil)
    #expect(try await fixture.harness.refresher.bound(record).details.grant.dpopKey != nil)
    await fixture.close()
  }
}
