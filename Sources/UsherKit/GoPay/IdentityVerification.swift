import FoundationEssentials
import Synchronization
import UsherClient

/// Runs a verification whose flow has been started: presents its pages, has its credential
/// exchanged, and returns its outcome.
final class IdentityVerification: Sendable {
  /// The maximum number of times that an answer is sent again.
  private static let retries = 9

  private struct Exchange {
    let code: Secret
    /// The result to submit for the code: that of the handler, or the failure that replaced it.
    var result: Task<ExchangeResult?, Never>
    var retries = 0
  }

  private let presenter: any Presenter
  private let receiver: CredentialReceiver
  private let retryTiming: GoPaySDK.RetryTiming
  private let exchange = Mutex<Exchange?>(nil)
  /// The URL of the page that was presented last; nil before the first.
  private let page = Mutex<String?>(nil)

  init(
    presenter: any Presenter, receiver: CredentialReceiver, retryTiming: GoPaySDK.RetryTiming
  ) {
    self.presenter = presenter
    self.receiver = receiver
    self.retryTiming = retryTiming
  }

  /// Runs the verification to its end.
  func outcome(_ session: FlowSession) async throws -> VerifyResult {
    defer { exchange.withLock { $0?.result.cancel() } }
    let driver = FlowDriver(session, patience: retryTiming.patience, respond: answer)
    return try VerifyResult(try await driver.runOrCancel())
  }

  /// Presents the flow's page, or returns the result of its exchange. The driver that follows the
  /// flow calls this for each step.
  func answer(_ flow: Flow, _ fault: AnswerFault?) async throws -> FlowInput? {
    switch flow.step {
    case .openURL(let step):
      try present(step.url)
      return nil
    case .exchangeCredential(let step):
      guard let result = await exchangeResult(of: step)?.value else { return nil }
      return try await input(result, of: step.credential.code.secret, fault)
    case .displayCode, .enterCode, .enterPassword, .choose, .fillForm, .consent, .localAuth, .wait,
      nil:
      return nil
    }
  }

  /// Presents a page, unless it is the one that was presented last or the flow has another page by
  /// now.
  ///
  /// The driver cancels the task of a page before it starts that of the next. The lock is held
  /// while the page is presented, so that no page is presented after a later one.
  private func present(_ page: String) throws {
    try self.page.withLock { last in
      guard !Task.isCancelled, page != last else { return }
      guard let url = URL(string: page) else {
        throw KitError(.unexpected, "the page to open has no valid address")
      }
      last = page
      presenter.present(url)
    }
  }

  /// Returns the result of exchanging a step's code; nil if the flow has another code by now. Each
  /// code is exchanged once, although the same step may arrive several times.
  private func exchangeResult(
    of step: Step.ExchangeCredential
  ) -> Task<ExchangeResult?, Never>? {
    let code = step.credential.code.secret
    return exchange.withLock { exchange in
      guard !Task.isCancelled else { return nil }
      if let exchange {
        guard exchange.code != code else { return exchange.result }
        exchange.result.cancel()
      }
      let result = Task(executorPreference: HandlerThread.executor) {
        await self.redeem(code, step.requestId)
      }
      exchange = Exchange(code: code, result: result)
      return result
    }
  }

  /// Calls the app's handler with a code, and returns the first result that the handler reports.
  private func redeem(_ code: Secret, _ requestID: String) async -> ExchangeResult? {
    guard case .exchange(let handler) = receiver else {
      return .failure(reason: "this app exchanges no credentials")
    }
    let (results, feed) = AsyncStream.makeStream(of: ExchangeResult.self)
    await handler.isolatedHandle(.authCode(code: code.revealed()), requestID) { feed.yield($0) }
    var iterator = results.makeAsyncIterator()
    return await iterator.next()
  }

  /// Returns the input with a code's result. If an earlier input had no effect, the result is
  /// submitted again, because the handler must not be asked twice.
  private func input(
    _ result: ExchangeResult, of code: Secret, _ fault: AnswerFault?
  ) async throws -> FlowInput? {
    let error: any Error
    var result = result
    switch fault {
    case .tooLate, nil: return result.input
    case .withoutEffect: return nil
    case .refused(let refusal):
      if refusal.reason == .unexpectedInput { return nil }
      guard refusal.reason == .invalidInput else { throw refusal }
      error = refusal
      result = result.refused(refusal.message)
    case .lost(let loss):
      error = loss
      try await Task.sleep(for: retryTiming.pause)
    }
    let mayRetry = exchange.withLock { current in
      // If the flow has another code by now, the daemon ignores this input.
      guard var exchange = current, exchange.code == code else { return false }
      exchange.result = Task { [result] in result }
      exchange.retries += 1
      current = exchange
      return exchange.retries <= Self.retries
    }
    guard mayRetry else { throw error }
    return result.input
  }
}
