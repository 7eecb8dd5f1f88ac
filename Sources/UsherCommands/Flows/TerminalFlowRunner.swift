import Synchronization
import UsherClient

/// Runs a flow of any provider and kind in the terminal.
final class TerminalFlowRunner: Sendable {
  /// The delay before an exchange command's answer is sent again after the connection was lost.
  private static let pause = Duration.seconds(1)

  private let context: CommandContext
  /// Opens a page in the browser; nil if the user does not want that.
  private let openPage: (@Sendable (String) -> Bool)?
  private let exchange: ExchangeCommand?
  private let shownStep = Mutex<Step?>(nil)

  private init(at context: CommandContext, _ options: FlowOptions) {
    self.context = context
    openPage = options.noBrowser ? nil : context.environment.openPage
    exchange = options.exchangeCommand.map { ExchangeCommand($0, context) }
  }

  private var console: Console { context.console }

  /// Starts a flow and runs it until it ends, with or without success. Cancelling the task cancels
  /// the flow.
  ///
  /// - Throws: ``CommandFailure`` with status 3 if the task was cancelled before it succeeded.
  static func run(
    _ provider: String, _ kind: String, _ params: JSONValue, requestId: String? = nil,
    at context: CommandContext, _ options: FlowOptions
  ) async throws -> Flow {
    let runner = TerminalFlowRunner(at: context, options)
    let session = try await context.app.beginFlow(
      provider: provider, kind: kind, params: params, requestId: requestId)
    do {
      return try await FlowDriver(session, awaitsResponder: true, respond: runner.answer).run()
    } catch is CancellationError {
      if let last = await session.cancelIgnoringErrors(), last.status == .succeeded { return last }
      throw CommandFailure("the flow was cancelled", status: .flowFailed)
    }
  }
}

// MARK: - Answering

extension TerminalFlowRunner {
  /// Shows a step, and gets its answer from the exchange command if there is one for this step,
  /// otherwise from the person.
  private func answer(_ flow: Flow, _ fault: AnswerFault?) async throws -> FlowInput? {
    let exchange = flow.step?.kind == .exchangeCredential ? exchange : nil
    switch fault {
    case .refused(let error):
      guard [.invalidInput, .unexpectedInput].contains(error.reason) else { throw error }
      if let exchange { return try exchange.answer(afterRefusal: error) }
      console.printMessage(error.message)
    case .lost(let error):
      let message = (error as? UsherError)?.message ?? (error as? ConnectionError)?.message
      console.printMessage("\(message ?? "usherd gave no reply"); your answer may be lost")
      // The answer of a command needs no typing, so without a delay it would be sent again in a
      // tight loop.
      if exchange != nil { try await context.environment.sleep(Self.pause) }
    case .tooLate:
      console.printMessage("the flow has already moved on")
      show(flow)
    case .withoutEffect, nil: show(flow)
    }
    if case .exchangeCredential(let step) = flow.step, let exchange {
      return try await exchange.answer(to: step)
    }
    return try await StepPrompts(context: context).ask(flow)
  }

  private func show(_ flow: Flow) {
    for line in flow.problem?.lines ?? [] { console.printMessage(line) }
    let shown = shownStep.withLock { shown in
      defer { shown = flow.step }
      return shown
    }
    guard let step = flow.step, step != shown else { return }
    let text = StepText(
      flow: flow, now: context.environment.clock.now(), exchangesByCommand: exchange != nil)
    for line in text.lines { console.printMessage(line) }
    if case .openURL(let page) = step, openPage?(page.url) == true {
      console.printMessage("your browser is opening it")
    }
  }
}

extension Flow {
  /// Checks that the flow succeeded.
  ///
  /// - Throws: ``CommandFailure`` with status 3 if the flow ended without success.
  func checkSuccess() throws {
    if status == .succeeded { return }
    let message = failure?.message ?? "the flow ended as \(status.rawValue)"
    var hints = failure.map { ["reason: \($0.reason.rawValue)"] } ?? []
    if let provider = failure?.provider { hints.append(provider.sentence) }
    throw CommandFailure(message, hints: hints, status: .flowFailed)
  }
}

extension Problem {
  fileprivate var lines: [String] {
    let saysMore = message.lowercased() != title.lowercased()
    var lines = [saysMore ? "\(title): \(message)" : title]
    if let provider { lines.append(provider.sentence) }
    if let retryAfterMs {
      lines.append("try again in \(Duration.milliseconds(retryAfterMs).text)")
    }
    return lines
  }
}
