import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// The SDK's documented examples with UsherKit, the real daemon and the sandbox's GoPay.
///
/// The header of `GoPaySeedExample.swift` says what stands around the examples.
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
    struct Down: LocalizedError {
      var errorDescription: String? { "the backend is down" }
    }

    let sandbox: SandboxUnderTest
    var isDown = false

    func exchangeAuthCode(
      _ code: String, requestId: String,
      completion: @escaping @Sendable (Result<String, any Error>) -> Void
    ) {
      if isDown { return completion(.failure(Down())) }
      let sandbox = sandbox
      Thread.detachNewThread {
        do {
          try sandbox.control("POST", "gopay/redeem", ["authCode": .string(code)])
          completion(.success(GoPayFixture.person))
        } catch {
          completion(.failure(error))
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

  /// Runs an example and returns the first line that it prints.
  private func output(
    _ screen: Screen, _ run: (GoPaySeedExample, @escaping @MainActor (String) -> Void) -> Void
  ) async -> String? {
    let (lines, feed) = AsyncStream.makeStream(of: String.self)
    let example = GoPaySeedExample(sdk: sdk, screen: screen)
    run(example) { feed.yield($0) }
    var iterator = lines.makeAsyncIterator()
    let line = await iterator.next()
    return withExtendedLifetime(example) { line }
  }

  @Test("GoPay's SDK example with credential exchange submits a verification and adds the account")
  func withExchange() async throws {
    let screen = Screen(fixture.sandbox)
    let backend = Backend(sandbox: fixture.sandbox)
    let line = await output(screen) { $0.verifyWithExchange(backend, print: $1) }
    let submission = try #require(try fixture.submissions().first)
    #expect(line == "Submission ID: \(submission["submissionId"]?.stringValue ?? "")")
    #expect(submission["status"] == "SUBMITTED")
    #expect(screen.pages.count == 1)
    #expect(try fixture.codeStates() == ["redeemed"])
    let account = try fixture.app.call("account.list")["accounts"]?[0]
    #expect(account?["subject"] == "corr-5678")
  }

  @Test("GoPay's SDK example without credential exchange verifies and keeps the token")
  func withoutExchange() async throws {
    let screen = Screen(fixture.sandbox)
    let line = await output(screen) { $0.verifyWithoutExchange(print: $1) }
    let submission = try #require(try fixture.submissions().first)
    #expect(line == "Submission ID: \(submission["submissionId"]?.stringValue ?? "")")
    #expect(screen.pages.count == 1)
    #expect(try fixture.codeStates() == [])
    let token = try fixture.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"] == "long-term-token")
  }

  @Test("a failing backend makes GoPay's SDK example run onError with GPE-2208 and the reason")
  func backendFails() async throws {
    let backend = Backend(sandbox: fixture.sandbox, isDown: true)
    let line = await output(Screen(fixture.sandbox)) { $0.verifyWithExchange(backend, print: $1) }
    #expect(line == "Error [GPE-2208]: Exchange failed — the backend is down")
  }

  @Test("Help at the capture page makes GoPay's SDK example run onError with GPE-2213")
  func help() async throws {
    let screen = Screen(fixture.sandbox, button: "HELP_CLICKED")
    let line = await output(screen) { $0.verifyWithoutExchange(print: $1) }
    #expect(line?.hasPrefix("Error [GPE-2213]: ") == true, "\(line ?? "")")
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
