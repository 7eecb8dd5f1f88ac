import Foundation
import JSONRPC
import Testing
import UsherAPI

@testable import UsherKit

/// The examples of the vendor's page with a fake daemon. They compile as they stand only because
/// their closures are isolated to the main actor, and they print on it.
@MainActor
@Suite("GoPay's SDK examples", .timeLimit(.minutes(10)))
struct GoPaySeedTests {
  /// A backend that is not `Sendable`, like most.
  private final class Backend: GoPaySeedExample.Backend {
    struct Down: LocalizedError {
      var errorDescription: String? { "the backend is down" }
    }

    let result: Result<String, any Error>
    private(set) var codes: [String] = []

    init(_ result: Result<String, any Error>) { self.result = result }

    func exchangeAuthCode(
      _ code: String, requestId: String,
      completion: @escaping @Sendable (Result<String, any Error>) -> Void
    ) {
      MainActor.assertIsolated("the handler is not called on the main actor")
      codes.append("\(code) of \(requestId)")
      completion(result)
    }
  }

  /// Runs an example and returns its first line of output.
  private func output(
    _ daemon: GoPayDaemon,
    _ run:
      @MainActor @Sendable @escaping (GoPaySeedExample, @escaping @MainActor (String) -> Void)
      -> Void
  ) async throws -> String? {
    let (lines, feed) = AsyncStream.makeStream(of: String.self)
    return try await daemon.run { @MainActor path in
      let example = GoPaySeedExample(sdk: goPaySDK(path), screen: GoPayScreen())
      run(example) { line in
        MainActor.assertIsolated("the callback is not called on the main actor")
        feed.yield(line)
      }
      var iterator = lines.makeAsyncIterator()
      let line = await iterator.next()
      return withExtendedLifetime(example) { line }
    }
  }

  private static let captured = GoPayDaemon.Answer.advances([.exchanged, .capture, .submitted])

  @Test("GoPay's example with credential exchange prints the submission on the main actor")
  func withExchange() async throws {
    let daemon = GoPayDaemon(.authCode, then: [.asking()], inputs: [Self.captured])
    let backend = Backend(.success("gopay-user-9"))
    let line = try await output(daemon) { $0.verifyWithExchange(backend, print: $1) }
    #expect(line == "Submission ID: sub-1")
    #expect(backend.codes == ["code-1 of req-1"])
    #expect(
      daemon.params(of: "flow.submit").map { $0["input"]?["success"] } == [
        ["userCorrelationId": "gopay-user-9"]
      ])
    let params = daemon.params(of: "flow.start").first?["params"]
    #expect(params?["credentialReceiver"] == "exchange")
    #expect(params?["userCorrelationId"] == "corr-5678")
    #expect(params?["token"] == "short-term-linking-token")
  }

  @Test("a failing backend makes GoPay's example print GPE-2208 on the main actor")
  func backendFails() async throws {
    let daemon = GoPayDaemon(
      .authCode, then: [.asking()],
      inputs: [.advances([.failed("exchange_failed", 2208, message: "down")])])
    let backend = Backend(.failure(Backend.Down()))
    let line = try await output(daemon) { $0.verifyWithExchange(backend, print: $1) }
    #expect(line == "Error [GPE-2208]: Exchange failed — down")
    let reason = daemon.params(of: "flow.submit").first?["input"]?["failure"]?["reason"]
    #expect(reason == "the backend is down")
  }

  @Test("a very long reason of a failed GoPay exchange is cut, so that it can be submitted")
  func longReason() {
    let reason = String(repeating: "ü", count: 300_000)
    let sent = ExchangeResult.failure(reason: reason).input
    #expect(sent == .exchangeFailed(reason: String(repeating: "ü", count: 1000)))
  }

  @Test("an app can call a CredentialExchangeHandler itself, as the page declares it")
  func calledByTheApp() async {
    let inner = CredentialExchangeHandler { credential, requestId, completion in
      #expect(credential == .authCode(code: "c") && requestId == "r")
      completion(.success(userCorrelationId: "corr-1"))
    }
    let outer = CredentialExchangeHandler { credential, requestId, completion in
      inner.handle(credential, requestId, completion)
    }
    let result = await withCheckedContinuation { continuation in
      outer.handle(.authCode(code: "c"), "r") { continuation.resume(returning: $0) }
    }
    #expect(result == .success(userCorrelationId: "corr-1"))
  }

  @Test("GoPay's example without credential exchange prints the submission on the main actor")
  func withoutExchange() async throws {
    let daemon = GoPayDaemon(.exchanged, then: [.capture, .submitted])
    let line = try await output(daemon) { $0.verifyWithoutExchange(print: $1) }
    #expect(line == "Submission ID: sub-1")
    let params = daemon.params(of: "flow.start").first?["params"]
    #expect(params?["credentialReceiver"] == "none" && params?["token"] == "long-term-token")
  }
}

/// Callbacks of UsherKit and the actor of their caller.
@Suite("The actor of GoPay's callbacks", .timeLimit(.minutes(10)))
struct GoPayIsolationTests {
  /// A callback whose methods are isolated to the main actor, like those of a view controller.
  @MainActor
  private final class Controller: FeatureCallback {
    private(set) var heard: [String] = []

    func onComplete(_ result: VerifyResult, data: [String: String]?) {
      heard.append(result.submissionId)
    }

    func onError(_ error: FeatureError) { heard.append(error.code) }
  }

  @MainActor
  @Test("GoPay calls the methods of a callback that is isolated to the main actor")
  func controller() async throws {
    for (end, word) in [
      (GoPayFlowSnapshot.submitted, "sub-1"), (.failed("denied", 2207), "GPE-2207"),
    ] {
      let daemon = GoPayDaemon(end)
      try await daemon.run { @MainActor path in
        let controller = Controller()
        let verification = try goPaySDK(path).getFeatureManager().verify(
          viewController: GoPayScreen(), request: goPayRequest, credentialReceiver: .none,
          callback: AnyFeatureCallback(wrapping: controller))
        await verification.task.value
        #expect(controller.heard == [word])
      }
    }
  }

  @MainActor
  @Test("closures written on the main actor capture its state and run there")
  func closures() async throws {
    var heard: [String] = []
    let callback = VerifyFeatureCallback { result, data in
      heard.append("\(result.submissionId) \(data?["status"] ?? "")")
    } onError: { error in
      heard.append(error.code)
    }
    let handler = CredentialExchangeHandler { credential, requestId in
      heard.append(requestId)
      return .success(userCorrelationId: "corr-5678")
    }
    let daemon = GoPayDaemon(
      .authCode, then: [.asking()], inputs: [.advances([.exchanged, .submitted])])
    try await daemon.run { @MainActor path in
      let verification = try goPaySDK(path).getFeatureManager().verify(
        viewController: GoPayScreen(), request: goPayRequest,
        credentialReceiver: .exchange(handler: handler),
        callback: AnyFeatureCallback(wrapping: callback))
      await verification.task.value
    }
    #expect(heard == ["req-1", "sub-1 SUBMITTED"])
  }
}
