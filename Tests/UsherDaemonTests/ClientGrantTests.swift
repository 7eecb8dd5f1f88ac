import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Tokens that the daemon renews without a refresh token: those of the client itself (RFC 6749
/// §4.4) and those got by an assertion (RFC 7523 §2.1).
@Suite("Renewals of grants without a person", .mayBlock, .timeLimit(.minutes(10)))
struct ClientGrantTests {
  private let provider: ScriptedProvider
  private let fixture: TokenFixture

  init() async throws {
    provider = try await ScriptedProvider()
    fixture = try TokenFixture(of: provider) { $0.clientCredentialsGrant = true }
  }

  private func signIn() async throws -> AccountRecord {
    let end = fixture.clock.now() + .seconds(300)
    var grant = AccountGrant.sample(
      "usher", tokens: .sample(refreshToken: nil, expiresAt: end, scope: "openid"))
    grant.isOfClient = true
    return try await fixture.repository.persist(grant)
  }

  private func reply(_ more: [String: JSONValue] = [:]) -> String {
    let members: [String: JSONValue] = [
      "access_token": "access-2", "token_type": "Bearer", "expires_in": 900, "scope": "openid",
    ]
    let all = JSONValue.object(members.merging(more) { $1 })
    return String(decoding: all.encoded(), as: UTF8.self)
  }

  private func grant(of record: AccountRecord) throws -> AccountDetails.Grant {
    try #require(fixture.repository.record(record.id)).details.grant
  }

  @Test("an ID token that comes with the client's own token is ignored, and ends nothing")
  func idToken() async throws {
    try await fixture.closing(provider) {
      let record = try await signIn()
      // Keycloak issues one for the scope openid. Its subject is that of the service account.
      let claims = JSONValue.object([
        "iss": .string(try provider.issuer.text), "aud": "usher", "sub": "service-account-1",
        "exp": 1_900_000_000,
      ])
      let parts = [Array(#"{"alg":"RS256"}"#.utf8), claims.encoded(), Array("sig".utf8)]
      let token = parts.map { Base64URL.encode($0) }.joined(separator: ".")
      provider.answerRefreshes(reply(["id_token": .string(token)]))
      fixture.clock.advance(by: .seconds(301))
      #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-2")
      #expect(try grant(of: record).death == nil)
      #expect(fixture.repository.record(record.id)?.tokens[.idToken] == nil)
      #expect(provider.revoked.isEmpty)
    }
  }

  @Test("a refused request does not end the grant, and is repeated when the pause is over")
  func refused() async throws {
    try await fixture.closing(provider) {
      let record = try await signIn()
      // RFC 7523 §3.1: also an assertion with a wrong time is an invalid_grant.
      provider.answerFirstRefresh(#"{"error": "invalid_grant"}"#, status: 400)
      provider.answerRefreshes(reply())
      fixture.clock.advance(by: .seconds(301))
      for _ in 1...2 {
        let error = try await fixture.refusal(TokenGet(account: record.id))
        #expect(error?.reason == .reauthenticationRequired)
        #expect(error?.detail.provider?.code == "invalid_grant")
      }
      #expect(provider.refreshes == 1)
      #expect(try grant(of: record).death == nil)
      let pause = fixture.harness.dependencies.config.limits.forceRefreshSeconds
      fixture.clock.advance(by: .seconds(pause + 1))
      #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-2")
    }
  }

  @Test("a refused request leaves the present token to the callers until it ends")
  func refusedEarly() async throws {
    try await fixture.closing(provider) {
      let record = try await signIn()
      provider.answerRefreshes(#"{"error": "invalid_grant"}"#, status: 400)
      fixture.clock.advance(by: .seconds(250))
      #expect(await fixture.outcome(TokenGet(account: record.id)) == "access-1")
      #expect(provider.refreshes == 1)
      #expect(try fixture.status(of: record) == [.valid])
    }
  }
}
