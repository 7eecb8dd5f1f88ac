import UsherAPI
import UsherClient
import UsherCore

/// Takes a person through a flow in the terminal, whatever its provider and kind.
struct FlowRunner {
  let session: FlowSession
  let console: Console
  let prompts: StepPrompts
  /// Nil where no browser is to be opened.
  let browser: (any Browser)?

  init(_ session: FlowSession, at desk: Desk, opensBrowser: Bool) {
    self.session = session
    console = desk.console
    prompts = StepPrompts(console: desk.console, clock: desk.world.clock)
    browser = opensBrowser ? desk.world.browser : nil
  }

  private enum Heard {
    case input(FlowInput)
    /// Nobody answers here; the daemon notices by itself.
    case nothing
    case moved(Flow)
  }

  /// Runs the flow to its end. Whoever interrupts this cancels the flow.
  ///
  /// - Returns: The flow when it has succeeded.
  /// - Throws: ``Failure`` with status 3 when it has ended otherwise.
  func run() async throws -> Flow {
    do {
      return try outcome(of: try await end())
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

  /// What comes first: an answer typed here, or the flow moving on without one.
  private func listen(_ flow: Flow) async throws -> Heard {
    try await withThrowingTaskGroup(of: Heard.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        guard let input = try await prompts.ask(flow) else { return .nothing }
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

  private func submit(_ input: FlowInput, answering flow: Flow) async throws -> Flow {
    do {
      return try await session.submit(input, answering: flow)
    } catch let error as UsherError {
      switch error.reason {
      case .invalidInput:
        console.note(error.message)
        return flow
      case .conflict, .unexpectedInput, .flowFinished:
        console.note("the flow has moved on meanwhile")
        return try await session.refresh()
      default: throw error
      }
    } catch let trouble as ConnectionTrouble where trouble.mayPass {
      console.note("\(trouble.message); it may not have got your answer")
      return flow
    }
  }

  private func outcome(of flow: Flow) throws -> Flow {
    if flow.status == .succeeded { return flow }
    let message = flow.failure?.message ?? "the flow ended as \(flow.status.rawValue)"
    var hints = flow.failure.map { ["reason: \($0.reason.rawValue)"] } ?? []
    if let word = flow.failure?.provider {
      let words = [word.code, word.title, word.message].compactMap(\.self)
      hints.append("\(word.name) said: \(words.joined(separator: ": "))")
    }
    throw Failure(message, hints: hints, status: Failure.Status.flowFailed)
  }
}

// MARK: - Showing

extension FlowRunner {
  private func show(_ flow: Flow, after seen: Flow?) {
    if let problem = flow.problem, problem != seen?.problem || flow.revision != seen?.revision {
      console.note("\(problem.title): \(problem.message)")
      if let pause = problem.retryAfterMs {
        console.note("try again in \(Duration.milliseconds(pause).words)")
      }
    }
    guard let step = flow.step, step != seen?.step else { return }
    for line in StepText(flow.provider).lines(step) { console.note(line) }
    if case .openURL(let page) = step, browser?.open(page.url) == true {
      console.note("your browser is opening it")
    }
  }
}
