import JSONRPC
import UsherAPI
import UsherClient
import UsherCore

/// The parameters of `startSimpleAuth` (the daemon's page LocalAuth).
struct LocalAuthOptions: Sendable, Equatable {
  var type: BSA.Enums.LocalAuthType
  var reason: String
  var checkDomainStateChanged: Bool
  var usePasscodeWhenFailed: Bool

  var params: JSONValue {
    [
      "localAuthType": .string(type.apiValue), "reason": .string(reason),
      "checkDomainStateChanged": .bool(checkDomainStateChanged),
      "usePasscodeWhenFailed": .bool(usePasscodeWhenFailed),
    ]
  }
}

extension BSAService {
  func authenticate(_ request: LocalAuthOptions) async throws(BSA.LocalAuthHelper.Failure) {
    do {
      let session = try await client.beginFlow(
        ProviderName("local"), "authenticate", params: request.params)
      let run = LocalAuthRun(session: session, prompt: prompt)
      if let failure = try await run.outcome().failure {
        throw BSA.LocalAuthHelper.Failure(failure)
      }
    } catch {
      throw BSA.LocalAuthHelper.Failure(error)
    }
  }
}

/// Runs a local authentication that has begun: asks the person, and submits the answers.
struct LocalAuthRun: Sendable {
  private enum Event: Sendable {
    case flowChanged(Flow)
    case answered(BSA.LocalAuth.Answer, ticket: Int)
    /// The answer to a revision left the flow at that revision.
    case flowUnchanged(Int, problem: String)
    case lost(any Error)
  }

  let session: FlowSession
  let prompt: (any BSA.LocalAuth.Prompt)?

  /// Runs the authentication to its end. The flow is cancelled, if possible, if it cannot be
  /// followed any more or the task is cancelled.
  func outcome() async throws -> Flow {
    let (events, feed) = AsyncStream.makeStream(of: Event.self)
    let watcher = Task { await watchFlow(feed) }
    defer { watcher.cancel() }
    var machine = LocalAuthStateMachine()
    let result: Result<Flow, any Error>
    do {
      result = .success(try await run(&machine, events, feed))
    } catch {
      await session.cancelIgnoringErrors()
      result = .failure(error)
    }
    if machine.hasAsked { await prompt?.finished() }
    return try result.get()
  }

  private func run(
    _ machine: inout LocalAuthStateMachine, _ events: AsyncStream<Event>,
    _ feed: AsyncStream<Event>.Continuation
  ) async throws -> Flow {
    var asking: Task<Void, Never>?
    defer { asking?.cancel() }
    for await event in events {
      let action =
        switch event {
        case .flowChanged(let flow): try machine.flowChanged(flow)
        case .answered(let answer, let ticket): machine.answered(answer, ticket: ticket)
        case .flowUnchanged(let revision, let problem): machine.flowUnchanged(revision, problem)
        case .lost(let error): throw error
        }
      switch action {
      case .ask(let question, let ticket):
        asking?.cancel()
        asking = try ask(question, ticket, feed)
      case .submit(let input, let seen): try await submit(input, seen, feed)
      case .over: asking?.cancel()
      case .end(let flow): return flow
      case .nothing: continue
      }
    }
    throw CancellationError()
  }

  private func watchFlow(_ feed: AsyncStream<Event>.Continuation) async {
    do {
      for try await flow in session.steps { feed.yield(.flowChanged(flow)) }
    } catch {
      feed.yield(.lost(error))
    }
  }

  /// Calls the prompt in a task of its own, so that a slow person does not delay the flow's end.
  private func ask(
    _ question: BSA.LocalAuth.Question, _ ticket: Int, _ feed: AsyncStream<Event>.Continuation
  ) throws -> Task<Void, Never>? {
    guard let prompt else {
      if question.isScanning { return nil }
      throw KitError(.notConfigured, "no prompt is configured: call configure(prompt:)")
    }
    return Task { feed.yield(.answered(await prompt.answer(question), ticket: ticket)) }
  }

  /// Submits an answer once. If it is unknown whether it arrived, the person is asked again.
  private func submit(
    _ input: FlowInput, _ seen: Flow, _ feed: AsyncStream<Event>.Continuation
  ) async throws {
    var problem: String?
    do {
      problem = try await session.answer(input, to: seen) { _ in true }.problem?.message
    } catch let fault as ConnectionError where fault.mayPass {
      problem = "the connection to usherd was lost, and with it the answer"
    } catch let error as UsherError where error.isAnswerTooLate {
      return
    } catch let error as UsherError {
      problem = error.message
    }
    if session.flow.revision == seen.revision {
      feed.yield(.flowUnchanged(seen.revision, problem: problem ?? "the answer had no effect"))
    }
  }
}

/// Decides which question to ask when the flow changes, and which answers count.
///
/// The same step may come several times, such as after a restart of the daemon. It is asked once
/// until it is answered.
struct LocalAuthStateMachine: Sendable, Equatable {
  private enum State: Equatable {
    /// No question is asked. → asked
    case nothing
    /// The prompt shows a question. → answered, asked, nothing
    case asked(Flow, ticket: Int)
    /// The answer is submitted. → asked, nothing
    case answered(Flow)
  }

  private var state = State.nothing
  private var tickets = 0

  /// Whether a question was ever asked.
  var hasAsked: Bool { tickets > 0 }

  enum Action: Sendable, Equatable {
    /// Ask a question in place of the present one. Its answer carries the ticket.
    case ask(BSA.LocalAuth.Question, ticket: Int)
    case submit(FlowInput, answering: Flow)
    /// The present question is over and must be withdrawn from the screen.
    case over
    case end(Flow)
    case nothing
  }

  /// - Throws: ``KitError`` if the step is not one of a local authentication.
  mutating func flowChanged(_ flow: Flow) throws -> Action {
    if flow.status.isFinished { return .end(flow) }
    if case .asked(let seen, let ticket) = state, seen.step == flow.step,
      seen.problem == flow.problem
    {
      state = .asked(flow, ticket: ticket)
      return .nothing
    }
    switch flow.step {
    case .localAuth(let step): return ask(step, flow, flow.problem?.message)
    case .wait, nil:
      state = .nothing
      return .over
    case .openURL, .displayCode, .enterCode, .enterPassword, .choose, .fillForm, .consent,
      .exchangeCredential:
      throw KitError(.unexpected, "usherd asks for a step other than local authentication")
    }
  }

  mutating func answered(_ answer: BSA.LocalAuth.Answer, ticket: Int) -> Action {
    guard case .asked(let flow, ticket) = state, case .submit(let input) = answer.act else {
      return .nothing
    }
    state = .answered(flow)
    return .submit(input, answering: flow)
  }

  /// Handles an answer that left the flow at the revision that was answered.
  mutating func flowUnchanged(_ revision: Int, _ problem: String) -> Action {
    guard case .answered(let flow) = state, flow.revision == revision,
      case .localAuth(let step)? = flow.step
    else { return .nothing }
    return ask(step, flow, problem)
  }

  private mutating func ask(_ step: Step.LocalAuth, _ flow: Flow, _ problem: String?) -> Action {
    tickets += 1
    state = .asked(flow, ticket: tickets)
    let question = BSA.LocalAuth.Question(
      reason: step.reason, isScanning: step.scanning,
      takesFinger: step.methods.contains(.biometric),
      takesPasscode: step.methods.contains(.passcode), problem: problem)
    return .ask(question, ticket: tickets)
  }
}

// MARK: - Conversions from the daemon's types

extension BSA.LocalAuthHelper.Failure {
  init(_ failure: UsherAPI.Failure) {
    let code = failure.provider?.code
    let sdkCode = code == "BIOMETRIC_NOT_AVAILABLE" ? "BIOMETRIC_NOT_AVILABLE" : code
    errorCode = sdkCode.flatMap { BSA.LocalAuthHelper.ErrorCode(rawValue: $0) }
    message = failure.message
  }

  init(_ error: any Error) {
    if let failure = error as? BSA.LocalAuthHelper.Failure {
      self = failure
    } else {
      errorCode = error is CancellationError ? .USER_CANCEL : nil
      message = KitError(error).message
    }
  }
}

extension UsherError {
  /// Whether an answer came too late for its step.
  fileprivate var isAnswerTooLate: Bool {
    [.conflict, .flowFinished, .unexpectedInput].contains(reason)
  }
}
