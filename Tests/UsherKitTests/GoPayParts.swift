import FoundationEssentials
import Synchronization
import UsherCore
import UsherTestKit

@testable import UsherKit

/// A presenter that records the pages.
final class GoPayScreen: Presenter {
  /// Yields each page when it is shown. For one reader.
  let pages: AsyncStream<String>
  private let feed: AsyncStream<String>.Continuation
  private let all = Mutex<[String]>([])

  init() { (pages, feed) = AsyncStream.makeStream() }

  var shown: [String] { all.withLock { $0 } }

  func present(_ url: URL) {
    all.withLock { $0.append(url.absoluteString) }
    feed.yield(url.absoluteString)
  }
}

/// A callback that records its events.
final class GoPayCallbackRecorder: FeatureCallback {
  enum Event: Sendable, Equatable {
    case completed(VerifyResult, data: [String: String]?)
    case failed(FeatureError)

    var error: FeatureError? {
      if case .failed(let error) = self { error } else { nil }
    }

    var submissionID: String? {
      if case .completed(let result, _) = self { result.submissionId } else { nil }
    }
  }

  private let all = Mutex<[Event]>([])

  var heard: [Event] { all.withLock { $0 } }

  func onComplete(_ result: VerifyResult, data: [String: String]?) {
    all.withLock { $0.append(.completed(result, data: data)) }
  }

  func onError(_ error: FeatureError) { all.withLock { $0.append(.failed(error)) } }
}

/// An exchange handler whose calls the test answers.
final class GoPayExchange: Sendable {
  struct Asked: Sendable {
    let credential: GoPayCredential
    let requestID: String
    let completion: @Sendable (ExchangeResult) -> Void
  }

  /// Yields each call when it is made. For one reader.
  let calls: AsyncStream<Asked>
  private let feed: AsyncStream<Asked>.Continuation
  private let all = Mutex<[Asked]>([])

  init() { (calls, feed) = AsyncStream.makeStream() }

  var credentials: [GoPayCredential] { all.withLock { $0.map(\.credential) } }

  var receiver: CredentialReceiver {
    .exchange(
      handler: CredentialExchangeHandler { [self] credential, requestID, completion in
        let asked = Asked(credential: credential, requestID: requestID, completion: completion)
        all.withLock { $0.append(asked) }
        feed.yield(asked)
      })
  }

  /// Returns a receiver that answers at once with `results`.
  static func answering(_ results: ExchangeResult...) -> CredentialReceiver {
    .exchange(
      handler: CredentialExchangeHandler { _, _, completion in
        for result in results { completion(result) }
      })
  }
}

/// Returns an SDK that waits at most `patience` for an absent daemon.
///
/// - Parameter time: The clock's time, in seconds after the creation of the flows of
///   ``GoPayFlowSnapshot``.
func goPaySDK(
  _ path: String, language: GoPaySDK.Language? = nil, patience: Duration = .zero,
  at time: Double = 0
) -> GoPaySDK {
  GoPaySDK(
    provider: "gopay", socketPath: path, language: language,
    retryTiming: .init(patience: patience, pause: .milliseconds(1)),
    clock: FakeClock(Timestamp(seconds: 1_893_456_000 + time)))
}

let goPayRequest = FeatureRequest.Builder()
  .requestId("req-1").userCorrelationId("corr-5678").token("short-term-linking-token").build()

extension FeatureManager {
  /// Returns the outcome of the async `verify` as a value.
  func outcome(
    _ request: FeatureRequest, _ receiver: CredentialReceiver, _ presenter: any Presenter
  ) async -> Result<VerifyResult, FeatureError> {
    do {
      return .success(
        try await verify(
          viewController: presenter, request: request, credentialReceiver: receiver))
    } catch {
      return .failure(error)
    }
  }
}

extension Result<VerifyResult, FeatureError> {
  var id: String? { try? get().submissionId }

  var code: String? {
    if case .failure(let error) = self { error.code } else { nil }
  }
}

extension GoPayDaemon {
  /// Runs one verification and returns the events of its callback.
  @MainActor
  func callbackEvents(
    _ receiver: CredentialReceiver, _ request: FeatureRequest = goPayRequest,
    screen: GoPayScreen = GoPayScreen()
  ) async throws -> [GoPayCallbackRecorder.Event] {
    try await run { @MainActor path in
      let recorder = GoPayCallbackRecorder()
      let verification = try goPaySDK(path).getFeatureManager().verify(
        viewController: screen, request: request, credentialReceiver: receiver,
        callback: AnyFeatureCallback(wrapping: recorder))
      await verification.task.value
      return recorder.heard
    }
  }
}
