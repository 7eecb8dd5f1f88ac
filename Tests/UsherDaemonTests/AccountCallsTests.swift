import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherDaemon
@testable import UsherFlows

/// A call that carries its account's token in the body.
private struct Payment: ProviderCall {
  var name: String { "operation" }
  let account: AccountID?
  let url: String

  func render(_ context: RenderContext<OIDCSettings>) throws(UsherError) -> HTTPRequest {
    HTTPRequest(method: .post, url: url, body: context.accessToken)
  }
}

@Suite("Provider calls with an account's access token", .mayBlock, .timeLimit(.minutes(10)))
struct AccountCallsTests {
  private let provider: ScriptedProvider
  private let fixture: TokenFixture

  init() async throws {
    provider = try await ScriptedProvider()
    fixture = try TokenFixture(of: provider)
  }

  private func send(_ record: AccountRecord) async throws -> CallOutcome {
    let config = try #require(fixture.harness.dependencies.config.providers.first)
    let payment = Payment(account: record.id, url: provider.operationURL)
    return await fixture.harness.calls.send(payment, of: record.id, for: config)
  }

  @Test(
    "a call whose access token is refused is repeated once, with a refreshed token",
    arguments: [("access-2", 201), ("access-3", 401)])
  func refused(successor: String, status: Int) async throws {
    try await fixture.closing(provider) {
      provider.answerRefreshes(
        """
        {"access_token": "\(successor)", "token_type": "Bearer", "expires_in": 900, \
        "refresh_token": "refresh-2", "scope": "openid profile"}
        """)
      let outcome = try await send(fixture.signIn())
      let reply: HTTPReply? = if case .reply(let reply) = outcome { reply } else { nil }
      #expect(reply?.status == status, "\(outcome)")
      #expect(provider.operations == ["access-1", successor])
      #expect(provider.refreshes == 1)
    }
  }

  @Test("a call whose refused token cannot be refreshed is not repeated, and a later call not sent")
  func ended() async throws {
    try await fixture.closing(provider) {
      provider.answerRefreshes(#"{"error": "invalid_grant"}"#, status: 400)
      let record = try await fixture.signIn()
      for _ in 1...2 {
        let outcome = try await send(record)
        let hasNoToken = if case .noToken = outcome { true } else { false }
        #expect(hasNoToken, "\(outcome)")
      }
      #expect(provider.operations == ["access-1"])
      #expect(provider.refreshes == 1)
      #expect(try fixture.status(of: record) == [.dead])
    }
  }
}
