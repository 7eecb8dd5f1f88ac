import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// Some servers want a public client's own access token in place of its authentication, so the
/// daemon tries that when a revocation is refused.
@Suite("Revocation of tokens that are bound to a key", .mayBlock, .timeLimit(.minutes(10)))
struct BoundRevocationTests {
  @Test(
    "a token that is bound to a key is not sent as a Bearer token, and none is fetched for that",
    arguments: [(false, 4, 1), (true, 2, 0)] as [(Bool, Int, Int)])
  func bearer(isBound: Bool, revocations: Int, refreshes: Int) async throws {
    let provider = try await ScriptedProvider()
    let fixture = try TokenFixture(of: provider) { $0.dpop = isBound }
    try await fixture.closing(provider) {
      provider.answerRevocations(status: 400)
      provider.answerRefreshes(#"{"error": "invalid_grant"}"#, status: 400)
      var grant = AccountGrant.sample(
        tokens: .sample(expiresAt: fixture.clock.now() + .seconds(300)))
      var transition = fixture.harness.dependencies.transitionContext()
      grant.dpopKey = isBound ? DPoPKey.make { transition.random($0) } : nil
      let record = try await fixture.repository.persist(grant)
      let reply = try await fixture.tokens.revoke(TokenRevoke(account: record.id), .program())
      #expect(reply.revoked == .failed)
      #expect(provider.revocations == revocations)
      #expect(provider.refreshes == refreshes)
    }
  }

  @Test("the revocation of a bound token that the daemon never stored is not repeated, either")
  func fromFlow() async throws {
    let provider = try await ScriptedProvider()
    let fixture = try TokenFixture(of: provider) { $0.dpop = true }
    try await fixture.closing(provider) {
      provider.answerRevocations(status: 400)
      provider.answerRefreshes(#"{"error": "invalid_grant"}"#, status: 400)
      let flow = try await fixture.harness.open()
      let config = try fixture.harness.dependencies.configStore.provider(named: .work)
      let revocation = Revocation(
        of: RevokedToken(secret: Secret("refresh-9"), kind: .refreshToken), obtainedBy: flow,
        by: config, fixture.harness.dependencies)
      await fixture.harness.revocations.enqueue(revocation)
      try await reached("the revocation has ended") {
        fixture.harness.scheduler.advance(by: .seconds(1))
        return try fixture.harness.tokensToRevoke().isEmpty
      }
      #expect(provider.revocations == 1)
      #expect(provider.refreshes == 0)
    }
  }
}
