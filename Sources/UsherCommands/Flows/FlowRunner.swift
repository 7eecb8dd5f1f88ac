import JSONRPC
import UsherAPI
import UsherClient
import UsherCore

/// Takes a person through a flow in the terminal, whatever its provider and kind.
struct FlowRunner {
  /// How long after a lost answer of a command it is given again.
  private static let pause = Duration.seconds(1)

  let session: FlowSession
  private let console: Console
  private let environment: CommandEnvironment
  private let prompts: StepPrompts
  /// Nil where no browser is to be opened.
  private let browser: (any Browser)?
  private let exchange: ExchangeCommand?

  /// Begins a flow.
  ///
  /// An interrupt does not end this call: whether there is a flow would not be known. ``run()``
  /// notices it then, and cancels the flow.
  static func begin(
    _ provider: String, _ kind: String, _ params: JSONValue, requestId: String? = nil,
    at context: CommandContext, _ options: FlowOptions
  ) async throws -> FlowRunner {
    let beginning = Task {
      try await context.app.flow(
        provider: provider, kind: kind, params: params, requestId: requestId)
    }
    return FlowRunner(try await beginning.value, at: context, options)
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

  private enum Heard {
    case input(FlowInput)
    /// Nobody answers here; the daemon notices by itself.
    case nothing
    case moved(Flow)
  }

  /// Runs the flow to its end, good or bad. Whoever interrupts this cancels the flow.
  ///
  /// - Throws: ``Failure`` with status 3 when it was interrupted.
  func run() async throws -> Flow {
    do {
      return try await end()
    } catch is CancellationError {
      // This task's own calls throw at once now; the last one is another task's.
      _ = await Task { [session] in try? await session.cancel() }.value
      throw Failure("the flow was cancelled", status: Failure.Status.flowFailed)
    }
  }

  private func end() async throws -> Flow {
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
    switch try await listen(flow) {
    case .moved(let flow): flow
    case .nothing: try await session.change(after: flow.revision)
    case .input(let input): try await submit(input, answering: flow)
    }
  }

  /// What comes first: an answer given here, or the flow moving on without one.
  private func listen(_ flow: Flow) async throws -> Heard {
    try await withThrowingTaskGroup(of: Heard.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        guard let input = try await answer(to: flow) else { return .nothing }
        return .input(input)
      }
      group.addTask { .moved(try await session.change(after: flow.revision)) }
      while let heard = try await group.next() {
        if case .nothing = heard { continue }
        return heard
      }
      return .nothing
    }
  }

  /// By the person, or by the command that is there for it.
  private func answer(to flow: Flow) async throws -> FlowInput? {
    if case .exchangeCredential(let step) = flow.step, let exchange {
      return try await exchange.answer(to: step)
    }
    return try await prompts.ask(flow)
  }
}

// MARK: - Answering

extension FlowRunner {
  private func submit(_ input: FlowInput, answering flow: Flow) async throws -> Flow {
    do {
      return try await session.submit(input, answering: flow)
    } catch let error as UsherError {
      switch error.reason {
      case .invalidInput: return try await refused(input, error, answering: flow)
      case .shuttingDown: return try await lost(input, error.message, answering: flow)
      case .conflict, .unexpectedInput, .flowFinished:
        console.note("the flow has moved on meanwhile")
        return try await session.refresh()
      default: throw error
      }
    } catch let fault as ConnectionError where fault.mayPass {
      return try await lost(input, fault.message, answering: flow)
    }
  }

  /// The flow tells by its revision whether the answer has arrived.
  private func lost(
    _ input: FlowInput, _ message: String, answering flow: Flow
  ) async throws -> Flow {
    console.note("\(message); it may not have got your answer")
    // Nobody has to type this one again: without a pause it would be given without end.
    if input.isOfCommand(exchange) { try await environment.sleep(Self.pause) }
    return flow
  }

  /// A person may answer again; a command has said all it knows.
  private func refused(
    _ input: FlowInput, _ error: UsherError, answering flow: Flow
  ) async throws -> Flow {
    guard input.isOfCommand(exchange) else {
      console.note(error.message)
      return flow
    }
    guard case .exchanged = input else { throw error }
    return try await submit(
      .exchangeFailed(reason: "exchange command answered wrongly: \(error.message)"),
      answering: flow)
  }
}

extension FlowInput {
  fileprivate func isOfCommand(_ command: ExchangeCommand?) -> Bool {
    command != nil && kind == .exchangeCredential
  }
}

// MARK: - Showing

extension FlowRunner {
  private func show(_ flow: Flow, after seen: Flow?) {
    if let problem = flow.problem, problem != seen?.problem || flow.revision != seen?.revision {
      for line in problem.lines { console.note(line) }
    }
    guard let step = flow.step, step != seen?.step else { return }
    let text = StepText(flow, at: environment.clock.now(), exchangesByCommand: exchange != nil)
    for line in text.lines { console.note(line) }
    if case .openURL(let page) = step, browser?.open(page.url) == true {
      console.note("your browser is opening it")
    }
  }
}

extension Flow {
  /// - Throws: ``Failure`` with status 3 where it has ended without success.
  func checkSuccess() throws {
    if status == .succeeded { return }
    let message = failure?.message ?? "the flow ended as \(status.rawValue)"
    var hints = failure.map { ["reason: \($0.reason.rawValue)"] } ?? []
    if let word = failure?.provider { hints.append(word.sentence) }
    throw UsherCommands.Failure(
      message, hints: hints, status: UsherCommands.Failure.Status.flowFailed)
  }
}

extension Problem {
  fileprivate var lines: [String] {
    let saysMore = message.lowercased() != title.lowercased()
    var lines = [saysMore ? "\(title): \(message)" : title]
    if let provider { lines.append(provider.sentence) }
    if let retryAfterMs {
      lines.append("try again in \(Duration.milliseconds(retryAfterMs).words)")
    }
    return lines
  }
}
