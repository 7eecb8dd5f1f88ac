import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// The seed's own examples, end to end: UsherKit, the real daemon and GoPay's stand-in.
///
/// What they needed to be corrected for is listed in the header of `GoPaySeedExample.swift`.
@MainActor
@Suite("GoPay's example of the seed, end to end", .mayBlock, .serialized, .timeLimit(.minutes(10)))
struct GoPaySeedEndToEndTests {
  /// A person before the screen: logs in where that is asked for, and hands in card and face.
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
          _ = try? GoPayScene.photograph(at: page, button)
        }
      }
    }
  }

  /// The partner's backend: redeems each code that it is handed.
  private struct Backend: GoPaySeedExample.Backend {
    let sandbox: SandboxUnderTest
    var knows = GoPayScene.person
    var isDown = false

    func exchangeAuthCode(
      _ code: String, requestId: String,
      completion: @escaping @Sendable (Result<String, GoPaySeedExample.BackendError>) -> Void
    ) {
      if isDown { return completion(.failure(.init(localizedDescription: "the backend is down"))) }
      Thread.detachNewThread {
        do {
          try sandbox.control("POST", "gopay/redeem", ["authCode": .string(code)])
          completion(.success(knows))
        } catch {
          completion(.failure(.init(localizedDescription: "\(error)")))
        }
      }
    }
  }

  private let scene: GoPayScene
  private let sdk: GoPaySDK

  init() throws {
    scene = try GoPayScene()
    sdk = GoPaySDK(socketPath: scene.daemon.socketPath)
  }

  private func news(
    _ screen: Screen, _ backend: Backend, _ values: GoPaySeedExample.Values = .init(),
    _ run: (GoPaySeedExample) -> Void
  ) async -> GoPaySeedExample.News? {
    let example = GoPaySeedExample(values, sdk: sdk, presenter: screen, backend: backend)
    run(example)
    var news = example.news.makeAsyncIterator()
    return await news.next()
  }

  @Test("with credential exchange (short-term linking token)")
  func withExchange() async throws {
    let screen = Screen(scene.sandbox)
    let news = await news(screen, Backend(sandbox: scene.sandbox)) { $0.verifyWithExchange() }
    let submission = try #require(try scene.submissions().first)
    #expect(news == .submitted(id: submission["submissionId"]?.stringValue ?? ""))
    #expect(submission["status"] == "SUBMITTED")
    #expect(screen.pages.count == 1)
    #expect(try scene.codeStates() == ["redeemed"])
    let account = try scene.app.call("account.list")["accounts"]?[0]
    #expect(account?["subject"] == "corr-5678")
  }

  @Test("without credential exchange (long-term token)")
  func withoutExchange() async throws {
    let screen = Screen(scene.sandbox)
    let news = await news(screen, Backend(sandbox: scene.sandbox)) { $0.verifyWithoutExchange() }
    let submission = try #require(try scene.submissions().first)
    #expect(news == .submitted(id: submission["submissionId"]?.stringValue ?? ""))
    #expect(screen.pages.count == 1)
    #expect(try scene.codeStates() == [])
    let token = try scene.app.call("token.get", ["provider": "gopay"])
    #expect(token["accessToken"] == "long-term-token")
  }

  @Test("the backend fails: onError with GPE-2208 and the reason")
  func backendFails() async throws {
    let news = await news(Screen(scene.sandbox), Backend(sandbox: scene.sandbox, isDown: true)) {
      $0.verifyWithExchange()
    }
    guard case .failed("GPE-2208", _, message: "the backend is down") = news else {
      throw TestTrouble("\(String(describing: news))")
    }
  }

  @Test("the backend knows somebody else: onError with GPE-2214")
  func somebodyElse() async throws {
    let news = await news(Screen(scene.sandbox), Backend(sandbox: scene.sandbox, knows: "other")) {
      $0.verifyWithExchange()
    }
    guard case .failed("GPE-2214", _, _) = news else {
      throw TestTrouble("\(String(describing: news))")
    }
  }

  @Test("a blank id builds, does not throw, and is onError with GPE-2206")
  func blank() async throws {
    let news = await news(
      Screen(scene.sandbox), Backend(sandbox: scene.sandbox), .init(userCorrelationId: " ")
    ) { $0.verifyWithoutExchange() }
    guard case .failed("GPE-2206", _, _) = news else {
      throw TestTrouble("\(String(describing: news))")
    }
    #expect(try scene.allRequests() == 0)
  }

  @Test("an expired token is onError with GPE-2202; the person's Help with GPE-2213")
  func others() async throws {
    var news = await news(
      Screen(scene.sandbox), Backend(sandbox: scene.sandbox),
      .init(longTermToken: "expired-token")
    ) { $0.verifyWithoutExchange() }
    guard case .failed("GPE-2202", _, _) = news else {
      throw TestTrouble("\(String(describing: news))")
    }
    news = await self.news(
      Screen(scene.sandbox, button: "HELP_CLICKED"), Backend(sandbox: scene.sandbox)
    ) { $0.verifyWithoutExchange() }
    guard case .failed("GPE-2213", _, _) = news else {
      throw TestTrouble("\(String(describing: news))")
    }
  }

  @Test("the documentation's program: a person logs in, and their backend redeems the code")
  func documentedProgram() async throws {
    let sandbox = scene.sandbox
    let screen = Screen(scene.sandbox)
    let program = IdentityCheck(sdk: sdk, presenter: screen) { code, _ in
      try sandbox.control("POST", "gopay/redeem", ["authCode": .string(code)])
      return "corr-5678"
    }
    let result = try await program.verify("corr-5678")
    #expect(try scene.submissions().map { $0["submissionId"] } == [.string(result.submissionId)])
    #expect(result.metadata == ["status": "SUBMITTED"] && screen.pages.count == 2)
    let error = try await #require(throws: FeatureError.self) {
      try await program.verify("corr-5678", token: "expired-token")
    }
    #expect(error.code == "GPE-2202" && error.serverCode == "1401" && error.isRetryable)
  }

  // MARK: The usage notes that are the SDK's alone

  private func request(_ id: String, token: String? = "long-term-token") -> FeatureRequest {
    FeatureRequest.Builder().requestId(id).userCorrelationId("corr-5678").token(token).build()
  }

  /// What a callback is told, and how often.
  private final class Ear: FeatureCallback {
    let heard = Mutex<[String]>([])

    func onComplete(_ result: VerifyResult, data: [String: String]?) {
      heard.withLock { $0.append("completed \(data?["status"] ?? "none")") }
    }

    func onError(_ error: FeatureError) { heard.withLock { $0.append(error.code) } }
  }

  @Test("exactly one completion, with metadata as its data; a reused requestId is GPE-2206")
  func oneCompletion() async throws {
    let ear = Ear()
    for count in 1...2 {
      try sdk.getFeatureManager().verify(
        presenter: Screen(scene.sandbox), request: request("req-1"), credentialReceiver: .none,
        callback: AnyFeatureCallback(wrapping: ear))
      try await until { ear.heard.withLock { $0.count } >= count }
    }
    #expect(ear.heard.withLock { $0 } == ["completed SUBMITTED", "GPE-2206"])
    #expect(try scene.submissions().count == 1)
  }

  @Test("AnyFeatureCallback holds it weakly: once it is gone nobody is told, and the flow goes on")
  func weak() async throws {
    var ear: Ear? = Ear()
    weak let held = ear
    let screen = Screen(scene.sandbox, button: "card")
    try sdk.getFeatureManager().verify(
      presenter: screen, request: request("req-1"), credentialReceiver: .none,
      callback: AnyFeatureCallback(wrapping: try #require(ear)))
    try await until { screen.pages.count == 1 }
    ear = nil
    #expect(held == nil)
    let flow = try scene.app.call("flow.list")["flows"]?[0] ?? .null
    try GoPayScene.photograph(at: try #require(screen.pages.first))
    #expect(try scene.app.finished(flow)["status"] == "succeeded")
  }

  @Test("a handler that answers twice is heard once")
  func twice() async throws {
    let sandbox = scene.sandbox
    let receiver = CredentialReceiver.exchange(
      handler: CredentialExchangeHandler { credential, _, completion in
        guard case .authCode(let code) = credential else { return }
        _ = try? sandbox.control("POST", "gopay/redeem", ["authCode": .string(code)])
        completion(.success(userCorrelationId: "corr-5678"))
        completion(.failure(reason: "changed my mind"))
      })
    // Without a token: the log-in pages come first.
    let screen = Screen(scene.sandbox)
    let result = try await sdk.getFeatureManager().verify(
      presenter: screen, request: request("req-1", token: nil), credentialReceiver: receiver)
    #expect(try scene.submissions().map { $0["submissionId"] } == [.string(result.submissionId)])
    #expect(screen.pages.count == 2)
  }

  @Test("a daemon that is killed while the person is at the capture page is waited for")
  func restarted() async throws {
    let screen = Screen(scene.sandbox, button: "card")
    let ear = Ear()
    try sdk.getFeatureManager().verify(
      presenter: screen, request: request("req-1"), credentialReceiver: .none,
      callback: AnyFeatureCallback(wrapping: ear))
    try await until { screen.pages.count == 1 }
    try scene.daemon.restart()
    try GoPayScene.photograph(at: try #require(screen.pages.first))
    try await until { !ear.heard.withLock { $0 }.isEmpty }
    #expect(ear.heard.withLock { $0 } == ["completed SUBMITTED"])
    #expect(screen.pages.count == 1)
  }

  /// Looks again and again, and leaves the main actor to others meanwhile.
  private func until(_ holds: @escaping @Sendable () -> Bool) async throws {
    try await aside { try eventually("it comes to that") { holds() } }
  }
}
