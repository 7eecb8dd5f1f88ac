import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// An account keeps a limited number of tokens for other audiences and with parts of the scope.
@Suite("Tokens for more audiences than an account keeps", .mayBlock, .timeLimit(.minutes(10)))
struct OtherTokenTests {
  /// Stores tokens for audiences, each of which lives a minute longer than the one before, and
  /// returns the changes in order.
  ///
  /// - Parameter isExchanged: Whether the tokens are got by token exchange instead of a refresh.
  private func store(
    _ count: Int, _ fixture: TokenFixture, isExchanged: Bool = false
  ) async throws -> [AccountRepository.Update] {
    let record = try await fixture.signIn(seconds: 100_000)
    let used = try #require(record.details.grant.refreshToken)
    let subject = try #require(record.tokens[record.mainKey]).set.accessToken
    var updates: [AccountRepository.Update] = []
    for number in 1...count {
      let key = TokenKey(audience: "audience-\(number)", scope: record.mainKey.scope)
      let tokens = TokenSet.sample(
        "access-for-\(number)", refreshToken: nil,
        expiresAt: fixture.clock.now() + .seconds(600 + 60 * number), scope: "openid profile")
      let update =
        try isExchanged
        ? fixture.repository.update(
          record.id, key, exchanged: tokens, for: subject, at: fixture.clock.now(), nil)
        : fixture.repository.update(
          record.id, key, granted: tokens, for: used, at: fixture.clock.now())
      try await fixture.repository.write(update)
      updates.append(try #require(update))
    }
    return updates
  }

  @Test(
    "a token that gives way to others is revoked if the provider ends nothing else with it",
    arguments: [false, true])
  func revoked(isExchanged: Bool) async throws {
    let fixture = try TokenFixture { $0.revokeReplaced = true }
    let updates = try await store(
      AccountRepository.maxOtherTokens + 2, fixture, isExchanged: isExchanged)
    let revoked = updates.map { $0.superseded?.tokens.map { $0.secret.unsealed() } ?? [] }
    #expect(revoked.dropLast(2).allSatisfy { $0.isEmpty })
    #expect(revoked.suffix(2) == [[Secret("access-for-1")], [Secret("access-for-2")]])
    #expect(
      try fixture.harness.tokensToRevoke().sorted() == ["access-for-1", "access-for-2"],
      "the revocations are stored with the change")
    #expect(updates.last?.record.tokens.count == AccountRepository.maxOtherTokens + 1)
    await fixture.close()
  }

  @Test("by default it is not revoked, because a provider may end the whole grant with it")
  func kept() async throws {
    let fixture = try TokenFixture()
    let updates = try await store(AccountRepository.maxOtherTokens + 1, fixture)
    #expect(updates.allSatisfy { $0.superseded == nil })
    #expect(try fixture.harness.tokensToRevoke().isEmpty)
    await fixture.close()
  }
}
