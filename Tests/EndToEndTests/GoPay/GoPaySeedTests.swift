import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// The SDK's documented examples with UsherKit, the real daemon and the sandbox's GoPay.
///
/// The header of `GoPaySeedExample.swift` lists the corrections to the examples.
@MainActor
@Suite("GoPay's SDK examples, end to end", .mayBlock, .serialized, .timeLimit(.minutes(10)))
struct GoPaySeedEndToEndTests {
  /// A presenter that logs in at log-in pages and submits photographs at capture pages.
  private final class Screen: Presenter {
    let sandbox: SandboxUnderTest
    let button: String
    private let shown = Mutex<[String]>([])

    init(_ sandbox: SandboxUnderTest, button: String = "submit") {
      self.sandbox = sandbox
      self.button = button
    }

    var pages: [String] { shown.withLock { $0 } }

    func present(_ url: URL) {
      let page = url.absoluteString
      shown.withLock { $0.append(page) }
      let (sandbox, button) = (sandbox, button)
      Thread.detachNewThread {
        if page.contains("/get-auth-code") {
          _ = try? GoPayPerson.logIn(at: page, sandbox)
        } else {
          _ = try? GoPayFixture.photograph(at: page, button)
        }
      }
    }
  }

  /// The partner's backend: redeems each code.
  private struct Backend: GoPaySeedExample.Backend {
    let sandbox: SandboxUnderTest
    var isDown = false

    func exchangeAuthCode(
      _ code: String, requestId: String,
      completion: @escaping @Sendable (Result<String, GoPaySeedExample.BackendError>) -> Void
    ) {
      if isDown { return completion(.failure(.init(localizedDescription: "the backend is down"))) }
      Thread.detachNewThread {
        do {
          try sandbox.control("POST", "gopay/redeem", ["authCode": .string(code)])
          completion(.success(GoPayFixture.person))
        } catch {
          completion(.failure(.init(localizedDescription: "\(error)")))
        }
      }
    }
  }

  private let fixture: GoPayFixture
  private let sdk: GoPaySDK

  init() throws {
    fixture = try GoPayFixture()
    sdk = GoPaySDK(socketPath: fixture.daemon.socketPath)
  }

  private func news(
    _ screen: Screen, _ backend: Backend, _ run: (GoPaySeedExample) -> Void
  ) async -> GoPaySeedExample.News? {
    let example = GoPaySeedExample(sdk: sdk, presenter: screen, backend: backend)
    run(example)
    var news = example.news.makeAsyncIterator()
    return await news.next()
  }

  @Test("GoPay's SDK example with credential exchange submits a verification and adds the account")
  func withExchange() async throws {
    let screen = Screen(fixture.sandbox)
    let news = await news(screen, Backend(sandbox: fixture.sandbox)) { $0.verifyWithExchange() }
    let submission = try #require(try fixture.submissions().first)
    #expect(news == .submitted(id: submission["submissionId"]?.stringValue ?? ""))
    #expect(submission["status"] == "SUBMITTED")
    #expect(screen.pages.count == 1)
    #expect(try fixture.codeStates() == ["redeemed"])
    let account = try fixture.app.call("account.list")["accounts"]?[0]
    #expect(account?["subject"] == "corr-5678")
  }

  @Test("GoPay's SDK example without credential exchange verifies and keeps the token")
  func withoutExchange() async throws {
    let screen = Screen(fixture.sandbox)
    let news = await news(screen, Backend(sandbox: fixture.sandbox)) { $0.verifyWithoutExchange() }
    let submission = try #require(try fixture.submissions().first)
    #expect(news == .submitted(id: submission["submissionId"]?.stringValue ?? ""))
    #expect(screen.pages.count == 1)
    #expect(try fixture.codeStates() == [])
    let token = try fixture.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"] == "long-term-token")
  }

  @Test("a failing backend makes GoPay's SDK example run onError with GPE-2208 and the reason")
  func backendFails() async throws {
    let news = await news(Screen(fixture.sandbox), Backend(sandbox: fixture.sandbox, isDown: true))
    {
      $0.verifyWithExchange()
    }
    guard case .failed("GPE-2208", _, message: "the backend is down") = news else {
      throw TestError("\(String(describing: news))")
    }
  }

  @Test("Help at the capture page makes GoPay's SDK example run onError with GPE-2213")
  func help() async throws {
    let news = await news(
      Screen(fixture.sandbox, button: "HELP_CLICKED"), Backend(sandbox: fixture.sandbox)
    ) { $0.verifyWithoutExchange() }
    guard case .failed("GPE-2213", _, _) = news else {
      throw TestError("\(String(describing: news))")
    }
  }

  @Test("the documentation's program verifies a person who logs in at GoPay's pages")
  func documentedProgram() async throws {
    let sandbox = fixture.sandbox
    let screen = Screen(fixture.sandbox)
    let program = IdentityCheck(sdk: sdk, presenter: screen) { code, _ in
      try sandbox.control("POST", "gopay/redeem", ["authCode": .string(code)])
      return "corr-5678"
    }
    let result = try await program.verify("corr-5678")
    #expect(try fixture.submissions().map { $0["submissionId"] } == [.string(result.submissionId)])
    #expect(result.metadata == ["status": "SUBMITTED"] && screen.pages.count == 2)
    let error = try await #require(throws: FeatureError.self) {
      try await program.verify("corr-5678", token: "expired-token")
    }
    #expect(error.code == "GPE-2202" && error.serverCode == "1401" && error.isRetryable)
  }
}
