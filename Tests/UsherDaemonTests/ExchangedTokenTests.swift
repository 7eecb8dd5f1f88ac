import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

@Suite("Answers to a token exchange", .mayBlock, .timeLimit(.minutes(10)))
struct ExchangedTokenTests {
  private static func reply(_ accessToken: String) -> String {
    """
    {"access_token": "\(accessToken)", "token_type": "Bearer", "expires_in": 300, \
    "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
    """
  }

  @Test("the account's own token is not handed out as the token for an audience")
  func echoed() async throws {
    let provider = try await ScriptedProvider()
    let fixture = try TokenFixture(of: provider) { settings in
      settings.audienceParameter = .audience
      settings.tokenExchange = true
    }
    try await fixture.closing(provider) {
      provider.answerFirstRefresh(Self.reply("access-1"), status: 200)
      provider.answerRefreshes(Self.reply("access-2"))
      let record = try await fixture.signIn()
      let call = TokenGet(account: record.id, audience: "mail")
      let error = try await fixture.refusal(call)
      #expect(error?.reason == .providerProtocolError)
      #expect(error?.message.contains("access-1") == false)
      #expect(fixture.repository.record(record.id)?.tokens.count == 1)
      #expect(await fixture.outcome(call) == "access-2")
    }
  }

  @Test("after metadata that could not be fetched, the account waits before the next exchange")
  func unreachable() async throws {
    // Nothing listens at the address of this provider.
    let fixture = try TokenFixture { settings in
      settings.audienceParameter = .audience
      settings.tokenExchange = true
    }
    let record = try await fixture.signIn()
    let call = TokenGet(account: record.id, audience: "mail")
    #expect(await fixture.outcome(call) == "provider_unreachable")
    let pause = fixture.harness.health.pause(
      for: .work, record.id, at: fixture.clock.monotonicNow())
    #expect(pause != nil)
    await fixture.close()
  }

  @Test("a token that was exchanged for an earlier or a dead token of the account is not stored")
  func late() async throws {
    let fixture = try TokenFixture()
    let record = try await fixture.signIn()
    let subject = try #require(record.tokens[record.mainKey]).set.accessToken
    let key = TokenKey(audience: "mail", scope: record.mainKey.scope)
    func plan() throws -> AccountRepository.Update? {
      try fixture.repository.update(
        record.id, key, exchanged: .sample("access-3"), for: subject, at: fixture.clock.now(), nil)
    }
    #expect(try plan()?.record.tokens[key] != nil)
    #expect(try plan()?.record.tokens[key]?.set.refreshToken == nil)
    try await fixture.signIn("access-2")
    #expect(try plan()?.record.id == nil)
    try await fixture.signIn("access-1")
    #expect(try plan()?.record.id == record.id)
    let used = fixture.repository.record(record.id)?.details.grant.refreshToken
    try await fixture.repository.write(
      fixture.repository.update(
        record.id, endedWith: ProviderErrorCode(name: .work, code: "invalid_grant"), of: used))
    #expect(try plan()?.record.id == nil)
    await fixture.close()
  }
}
