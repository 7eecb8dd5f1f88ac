import Testing
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite(
  "Tokens by an assertion of a provider that does not answer", .mayBlock, .timeLimit(.minutes(10)))
struct IdentityPauseTests {
  @Test("the account waits before the identity provider is asked again")
  func paused() async throws {
    let provider = try await ScriptedProvider()
    let corp = ProviderName("corp")
    var settings = OIDCSettings(issuer: try provider.issuer, clientID: "usher")
    settings.identityAssertion.provider = corp
    // Nothing listens at port 9 of the loopback interface.
    let silent = OIDCSettings(
      issuer: try ProviderURL(setting: "http://127.0.0.1:9"), clientID: "usher")
    var config = Config()
    config.providers = [
      ProviderConfig(name: .work, settings: settings), ProviderConfig(name: corp, settings: silent),
    ]
    let harness = try FlowHarness(config: config)
    let end = harness.clock.now() + .seconds(300)
    var person = AccountGrant.sample("ada")
    person.idToken = IDToken(token: Sealed(Secret("header.claims.signature")), expiresAt: end)
    let identity = try await harness.repository.persist(person, at: corp)
    var grant = AccountGrant.sample(
      "ada", tokens: .sample("access-1", refreshToken: nil, expiresAt: end))
    grant.isOfClient = true
    grant.identity = identity.id
    let record = try await harness.repository.persist(grant)
    let error = await thrown {
      try await harness.refresher.token(record.id, record.mainKey, validFor: 60, isForced: true)
    }
    #expect(error?.reason == .providerUnreachable)
    let pause = harness.health.pause(
      for: .work, record.id, at: harness.clock.monotonicNow())
    #expect(pause != nil)
    await harness.http.shutdown()
    try await provider.close()
  }
}
