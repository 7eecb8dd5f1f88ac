import JSONRPC
import UsherAPI
import UsherClient
import UsherCore

/// Runs a flow of any provider and kind in the terminal.
struct TerminalFlowRunner {
  /// The delay before an exchange command's answer is sent again after the connection was lost.
  private static let pause = Duration.seconds(1)

  let session: FlowSession
  private let console: Console
  private let environment: CommandEnvironment
  private let prompts: StepPrompts
  /// The browser; nil if none is to be opened.
  private let browser: (any Browser)?
  private let exchange: ExchangeCommand?

  /// Starts a flow.
  ///
  /// An interrupt does not cancel this call, because it would then be unknown whether the flow
  /// exists. ``run()`` detects the interrupt and cancels the flow.
  static func begin(
    _ provider: String, _ kind: String, _ params: JSONValue, requestId: String? = nil,
    at context: CommandContext, _ options: FlowOptions
  ) async throws -> TerminalFlowRunner {
    let beginning = Task {
      try await context.app.flow(
        provider: provider, kind: kind, params: params, requestId: requestId)
    }
    return TerminalFlowRunner(try await beginning.value, at: context, options)
  }

  private init(_ session: FlowSession, at context: CommandContext, _ options: FlowOptions) {
    self.session = session
    console = context.console
    environment = context.environment
    prompts = StepPrompts(
      console: context.console, clock: context.environment.clock, sleep: context.environment.sleep)
    browser = options.noBrowser ? nil : context.environment.browser
    exchange = options.exchangeCommand.map { ExchangeCommand($0, context) }
  }

  private enum Event {
    case input(FlowInput)
    /// No answer is given here; the daemon notices the next change itself.
    case nothing
    case flowChanged(Flow)
  }

  /// Runs the flow until it ends, with or without success. Cancelling the task cancels the flow.
  ///
  /// - Throws: ``CommandFailure`` with status 3 if the task was cancelled.
  func run() async throws -> Flow {
    do {
      return try await runToEnd()
    } catch is CancellationError {
      // Calls of a cancelled task throw at once, so another task makes the last call.
      _ = await Task { [session] in try? await session.cancel() }.value
      throw CommandFailure("the flow was cancelled", status: CommandFailure.Status.flowFailed)
    }
  }

  private func runToEnd() async throws -> Flow {
    var flow = session.flow
    var seen: Flow?
    while !flow.status.isFinished {
      show(flow, after: seen)
      seen = flow
      flow = try await next(after: flow)
    }
    return flow
  }

  private func next(after flow: Flow) async throws -> Flow {
    switch try await nextEvent(flow) {
    case .flowChanged(let flow): flow
    case .nothing: try await session.change(after: flow.revision)
    case .input(let input): try await submit(input, answering: flow)
    }
  }

  /// Waits for an answer given here or for a change of the flow, whichever comes first.
  private func nextEvent(_ flow: Flow) async throws -> Event {
    try await withThrowingTaskGroup(of: Event.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        guard let input = try await answer(to: flow) else { return .nothing }
        return .input(input)
      }
      group.addTask { .flowChanged(try await session.change(after: flow.revision)) }
      while let event = try await group.next() {
        if case .nothing = event { continue }
        return event
      }
      return .nothing
    }
  }

  /// Gets the answer from the exchange command if there is one for this step, otherwise from the
  /// person.
  private func answer(to flow: Flow) async throws -> FlowInput? {
    if case .exchangeCredential(let step) = flow.step, let exchange {
      return try await exchange.answer(to: step)
    }
    return try await prompts.ask(flow)
  }
}

// MARK: - Answering

extension TerminalFlowRunner {
  private func submit(_ input: FlowInput, answering flow: Flow) async throws -> Flow {
    do {
      return try await session.submit(input, answering: flow)
    } catch let error as UsherError {
      switch error.reason {
      case .invalidInput: return try await handleRefusal(input, error, answering: flow)
      case .shuttingDown: return try await handleLoss(input, error.message, answering: flow)
      case .conflict, .unexpectedInput, .flowFinished:
        console.printMessage("the flow has already moved on")
        return try await session.refresh()
      default: throw error
      }
    } catch let fault as ConnectionError where fault.mayPass {
      return try await handleLoss(input, fault.message, answering: flow)
    }
  }

  /// Handles a lost connection. The flow's revision will show whether the answer has arrived.
  private func handleLoss(
    _ input: FlowInput, _ message: String, answering flow: Flow
  ) async throws -> Flow {
    console.printMessage("\(message); your answer may be lost")
    // A command's answer needs no typing: without a delay it would be sent again in a tight loop.
    if input.comesFromCommand(exchange) { try await environment.sleep(Self.pause) }
    return flow
  }

  /// Handles a refused answer: a person is asked again; a command is not, so its answer becomes a
  /// failed exchange.
  private func handleRefusal(
    _ input: FlowInput, _ error: UsherError, answering flow: Flow
  ) async throws -> Flow {
    guard input.comesFromCommand(exchange) else {
      console.printMessage(error.message)
      return flow
    }
    guard case .exchanged = input else { throw error }
    return try await submit(
      .exchangeFailed(reason: "exchange command gave an invalid answer: \(error.message)"),
      answering: flow)
  }
}

extension FlowInput {
  fileprivate func comesFromCommand(_ command: ExchangeCommand?) -> Bool {
    command != nil && kind == .exchangeCredential
  }
}

// MARK: - Showing

extension TerminalFlowRunner {
  private func show(_ flow: Flow, after seen: Flow?) {
    if let problem = flow.problem, problem != seen?.problem || flow.revision != seen?.revision {
      for line in problem.lines { console.printMessage(line) }
    }
    guard let step = flow.step, step != seen?.step else { return }
    let text = StepText(flow, at: environment.clock.now(), exchangesByCommand: exchange != nil)
    for line in text.lines { console.printMessage(line) }
    if case .openURL(let page) = step, browser?.open(page.url) == true {
      console.printMessage("your browser is opening it")
    }
  }
}

extension Flow {
  /// - Throws: ``CommandFailure`` with status 3 if the flow ended without success.
  func checkSuccess() throws {
    if status == .succeeded { return }
    let message = failure?.message ?? "the flow ended as \(status.rawValue)"
    var hints = failure.map { ["reason: \($0.reason.rawValue)"] } ?? []
    if let provider = failure?.provider { hints.append(provider.sentence) }
    throw UsherCommands.CommandFailure(
      message, hints: hints, status: UsherCommands.CommandFailure.Status.flowFailed)
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
