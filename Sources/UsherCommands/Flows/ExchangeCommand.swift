import Synchronization
import UsherClient

/// The shell command of `--exchange-command`, which lets the app's backend exchange a credential.
///
/// The credential is passed on standard input as one line of JSON, never in arguments or
/// environment variables, which other processes can read.
final class ExchangeCommand: Sendable {
  private let command: String
  private let context: CommandContext
  /// The last exchange step and the answer to it. If the daemon shows the step again, it gets the
  /// same answer, because a credential can be redeemed only once.
  private let last = Mutex<(step: Step.ExchangeCredential, answer: FlowInput)?>(nil)

  init(_ command: String, _ context: CommandContext) {
    self.command = command
    self.context = context
  }

  /// Runs the command for an exchange step.
  ///
  /// - Returns: The answer for the daemon; nil if the step's deadline is over, which the daemon
  ///   detects itself.
  /// - Throws: `CancellationError`; ``CommandFailure`` if the command cannot be started.
  func answer(to step: Step.ExchangeCredential) async throws -> FlowInput? {
    let left = step.deadline - context.environment.clock.now()
    guard left > .zero else { return nil }
    if let last = last.withLock({ $0 }), last.step == step { return last.answer }
    let ending = try await context.environment.programs
      .run(command, input: step.question, within: left)
    guard let answer = answer(for: ending) else { return nil }
    last.withLock { $0 = (step, answer) }
    return answer
  }

  /// Returns another answer after the daemon has refused the command's answer. It says that the
  /// exchange failed, because the command must not run twice for one credential.
  ///
  /// - Throws: `refusal` if the refused answer already said that the exchange failed.
  func answer(afterRefusal refusal: UsherError) throws -> FlowInput {
    try last.withLock { last in
      guard case .exchanged? = last?.answer else { throw refusal }
      let answer = failed("gave an invalid answer: \(refusal.message)")
      last?.answer = answer
      return answer
    }
  }

  private func answer(for ending: CommandEnding) -> FlowInput? {
    switch ending {
    case .done(let output):
      do {
        return try FlowInput(backendAnswer: output)
      } catch {
        return failed("gave an invalid answer: \(error.reason)")
      }
    case .failed(let status): return failed("failed: status \(status)")
    case .killed(let signal): return failed("failed: signal \(signal)")
    case .outputTooLong: return failed("printed too much")
    case .timedOut:
      context.console.printMessage("the exchange command did not end in time")
      return nil
    }
  }

  private func failed(_ how: String) -> FlowInput {
    .exchangeFailed(reason: "exchange command \(how)")
  }
}

extension Step.ExchangeCredential {
  /// The line of JSON that the command reads from its standard input.
  fileprivate var question: Secret {
    var question: JSONValue = [
      "code": .string(credential.code.revealed()), "requestId": .string(requestId),
    ]
    question["codeVerifier"] = codeVerifier.map { .string($0.revealed()) }
    question["redirectURI"] = redirectURI.map { .string($0) }
    return Secret(String(decoding: question.encoded(), as: UTF8.self) + "\n")
  }
}
