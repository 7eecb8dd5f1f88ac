import JSONRPC
import Testing

@testable import UsherKit

/// The seed's own examples against the sequences of the daemon's page GoPay.
@MainActor
@Suite("GoPay's example of the seed", .timeLimit(.minutes(1)))
struct GoPaySeedTests {
  private struct Backend: GoPaySeedExample.Backend {
    var isDown = false

    func exchangeAuthCode(
      _ code: String, requestId: String,
      completion: @escaping @Sendable (Result<String, GoPaySeedExample.BackendError>) -> Void
    ) {
      guard !isDown, code == "code-1", requestId == "req-1" else {
        return completion(.failure(.init(localizedDescription: "the backend is down")))
      }
      completion(.success("corr-5678"))
    }
  }

  private let screen = GoPayScreen()

  private func news(
    _ daemon: GoPayDaemon, _ backend: Backend = Backend(),
    _ run: @MainActor @Sendable (GoPaySeedExample) -> Void
  ) async throws -> GoPaySeedExample.News? {
    try await daemon.run { @MainActor path in
      let example = GoPaySeedExample(
        sdk: GoPaySDK(socketPath: path), presenter: screen, backend: backend)
      run(example)
      var news = example.news.makeAsyncIterator()
      return await news.next()
    }
  }

  @Test("with credential exchange")
  func withExchange() async throws {
    let daemon = GoPayDaemon(
      .authCode, .asking(), inputs: [.goesOn([.exchanged, .capture, .submitted])])
    let news = try await news(daemon) { $0.verifyWithExchange() }
    #expect(news == .submitted(id: "sub-1"))
    let start = try #require(daemon.params(of: "flow.start").first)
    #expect(
      start["params"] == [
        "userCorrelationId": "corr-5678", "token": "short-term-linking-token",
        "credentialReceiver": "exchange",
      ])
    #expect(start["requestId"]?.stringValue?.count == 36)
    #expect(
      daemon.params(of: "flow.submit").map { $0["input"] } == [
        ["type": "exchangeCredential", "success": ["userCorrelationId": "corr-5678"]]
      ])
  }

  @Test("with an exchange that fails")
  func exchangeFails() async throws {
    let message = "the backend is down"
    let daemon = GoPayDaemon(
      .authCode, .asking(), inputs: [.goesOn([.failed("exchange_failed", 2208, message: message)])])
    let news = try await news(daemon, Backend(isDown: true)) { $0.verifyWithExchange() }
    #expect(news == .failed(code: "GPE-2208", title: "exchange failed", message: message))
    #expect(
      daemon.params(of: "flow.submit").map { $0["input"] } == [
        ["type": "exchangeCredential", "failure": ["reason": .string(message)]]
      ])
  }

  @Test("without credential exchange")
  func withoutExchange() async throws {
    let daemon = GoPayDaemon(.exchanged, .capture)
    async let news = news(daemon) { $0.verifyWithoutExchange() }
    var pages = screen.pages.makeAsyncIterator()
    #expect(await pages.next() == "https://capture.example/1")
    try await daemon.happens(.submitted)
    #expect(try await news == .submitted(id: "sub-1"))
    #expect(
      daemon.params(of: "flow.start").first?["params"] == [
        "userCorrelationId": "corr-5678", "token": "long-term-token",
        "credentialReceiver": "none",
      ])
  }

  @Test(
    "the documentation's program, and what it tells of a backend that is down",
    arguments: [nil, "the backend is down"] as [String?])
  func documentedProgram(trouble: String?) async throws {
    struct Down: Error, CustomStringConvertible { var description: String }
    let end = GoPayStanding.failed("exchange_failed", 2208, message: trouble ?? "")
    let daemon = GoPayDaemon(
      .asking(), inputs: [.goesOn(trouble == nil ? [.capture, .submitted] : [end])])
    try await daemon.run { [screen] path in
      let program = IdentityCheck(sdk: GoPaySDK(socketPath: path), presenter: screen) { code, id in
        if let trouble { throw Down(description: trouble) }
        return code == "code-1" && id == "req-1" ? "corr-5678" : ""
      }
      do {
        let result = try await program.verify("corr-5678")
        #expect(result.submissionId == "sub-1" && result.account == "acc_1" && trouble == nil)
      } catch let error as FeatureError {
        #expect(error.code == "GPE-2208" && error.message == trouble)
      }
    }
    let start = try #require(daemon.params(of: "flow.start").first)
    #expect(
      start["params"] == ["userCorrelationId": "corr-5678", "credentialReceiver": "exchange"])
    #expect(start["requestId"]?.stringValue?.count == 36)
    let input = try #require(daemon.params(of: "flow.submit").first?["input"])
    if let trouble {
      #expect(input["failure"] == ["reason": .string(trouble)])
    } else {
      #expect(input["success"] == ["userCorrelationId": "corr-5678"])
    }
  }
}
