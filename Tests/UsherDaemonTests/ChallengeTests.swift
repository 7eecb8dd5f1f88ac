import Testing
import UsherAPI
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

/// The challenge comes from a service, which may write anything into it.
@Suite("Challenges with unusual values", .mayBlock, .timeLimit(.minutes(10)))
struct ChallengeTests {
  @Test("the longest max_age that a service can name is met by any earlier sign-in")
  func longestMaxAge() async throws {
    let fixture = try TokenFixture()
    var grant = AccountGrant.sample(
      tokens: .sample(expiresAt: fixture.clock.now() + .seconds(300)))
    var signIn = SignInClaims()
    signIn.authenticatedAt = fixture.clock.now() - .seconds(3600)
    grant.signIn = signIn
    let record = try await fixture.repository.persist(grant)
    for maxAge in [Int.max, Int.max - 59, 3600] {
      let challenge =
        "Bearer error=\"insufficient_user_authentication\", max_age=\"\(maxAge)\""
      #expect(
        await fixture.outcome(TokenGet(account: record.id, challenge: challenge)) == "access-1",
        "\(maxAge)")
    }
    let challenge = "Bearer error=\"insufficient_user_authentication\", max_age=3500"
    #expect(
      await fixture.outcome(TokenGet(account: record.id, challenge: challenge))
        == "reauthentication_required")
    await fixture.close()
  }

  @Test("the answer to a challenge is not cached, because it depends on when the user signed in")
  func notCached() async throws {
    let fixture = try TokenFixture()
    let record = try await fixture.signIn()
    for (challenge, isCached) in [(nil, true), ("Bearer realm=api", false)] as [(String?, Bool)] {
      let response = try fixture.tokens.get(
        TokenGet(account: record.id, challenge: challenge), .program())
      if case .cacheable = response {
        #expect(isCached)
      } else {
        #expect(!isCached && response.atOnce != nil)
      }
    }
    await fixture.close()
  }
}
