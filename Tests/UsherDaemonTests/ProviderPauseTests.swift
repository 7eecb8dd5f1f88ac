import Testing
import UsherCore
import UsherFlows
import UsherTestKit

@testable import UsherDaemon

@Suite("Pauses after failed calls", .timeLimit(.minutes(10)))
struct ProviderPauseTests {
  private func pause(
    after answer: String, to call: (OIDCMetadata) -> OIDCCall
  ) async throws -> Duration? {
    let exchange = try await TLSExchange(.whole(answer))
    _ = try await exchange.outcome(of: call)
    #expect(exchange.server.requests == 1)
    return exchange.harness.health.pause(for: .work, at: exchange.harness.clock.now())
  }

  @Test(
    "a failed call to the device or userinfo endpoint does not pause refreshes",
    arguments: [
      "429 Too Many Requests\r\nRetry-After: 3600", "500 Internal Server Error",
      "503 Service Unavailable\r\nRetry-After: 3600", "302 Found\r\nLocation: /",
      "200 OK\r\nContent-Length: 2000000",
    ])
  func otherEndpoints(answer: String) async throws {
    let length = answer.contains("Content-Length") ? "" : "\r\nContent-Length: 0"
    let text = "HTTP/1.1 \(answer)\(length)\r\n\r\n"
    #expect(try await pause(after: text) { .deviceAuthorization(scope: "openid", $0) } == nil)
    #expect(
      try await pause(after: text) { .userinfo(accessToken: Secret("access"), $0) } == nil)
  }

  @Test("a failed call to the token endpoint pauses other accounts for at most 5 s")
  func tokenEndpoint() async throws {
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
      let text = "HTTP/1.1 \(status)\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"
      let pause = try #require(try await pause(after: text, to: TLSExchange.redemption))
      #expect(pause > .zero && pause <= .seconds(5), "\(pause)")
    }
  }
}
