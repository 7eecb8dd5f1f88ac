import UsherClient

/// Runs an authorization whose flow has been started: lets the app's presenter show the screens,
/// submits the person's answers, and returns the outcome.
struct FreedomAuthorization: Sendable {
  let session: FlowSession
  /// Returns the app's presenter; nil if it was deallocated.
  let presenter: @Sendable () -> (any FreedomIDPresenter)?
  let patience: Duration

  /// Runs the authorization to its end.
  func outcome() async throws -> GrantedProfile {
    let isShown = !session.flow.status.isFinished
    do {
      let driver = FlowDriver(session, patience: patience, respond: answer)
      let profile = try GrantedProfile(try await driver.runOrCancel())
      if isShown { await presenter()?.finished(.authorized) }
      return profile
    } catch {
      if isShown { await presenter()?.finished(FreedomIDEnd(error)) }
      throw error
    }
  }

  private func answer(_ flow: Flow, _ fault: AnswerFault?) async throws -> FlowInput? {
    let step = flow.step ?? .wait(.init(for: "usherd"))
    guard let screen = FreedomIDScreen.screen(for: step) else {
      let kind = step.kind.rawValue
      throw KitError(
        .notConfigured, "the SDK has no screen for a step \(kind): is the provider's mode device?")
    }
    let problem = try FreedomIDProblem(flow, fault)
    guard let presenter = presenter() else {
      throw KitError(.cancelled, "the presenter was deallocated")
    }
    switch await presenter.answer(screen, problem: problem).act {
    case .submit(let input): return input
    case .stay: return nil
    case .giveUp: throw CancellationError()
    }
  }
}

extension FreedomIDProblem {
  /// Creates the problem that is shown with the screen for the flow's step; nil if there is none.
  ///
  /// - Throws: The error of the previous answer if no other answer can be given.
  fileprivate init?(_ flow: Flow, _ fault: AnswerFault?) throws {
    switch fault {
    case .refused(let error):
      guard error.allowsAnotherAnswer else { throw error }
      self.init(error)
    case .lost: self = .lost
    case .withoutEffect, .tooLate, nil:
      guard let problem = flow.problem else { return nil }
      self.init(problem)
    }
  }
}

extension UsherError {
  fileprivate var allowsAnotherAnswer: Bool {
    [
      .invalidInput, .unexpectedInput, .messageTooLarge, .rateLimited, .overloaded,
      .storageUnavailable,
    ].contains(reason)
  }
}
