import UsherClient

/// Runs an authorization whose flow has been started: lets the app's presenter show the screens,
/// submits the person's answers, and returns the outcome.
struct FreedomAuthorization: Sendable {
  let session: FlowSession
  let client: UsherClient
  let grants: [DataGrants]
  /// Returns the app's presenter; nil if it was deallocated.
  let presenter: @Sendable () -> (any FreedomIDPresenter)?
  let patience: Duration

  /// Runs the authorization to its end.
  func outcome() async throws -> GrantedProfile {
    let isShown = !session.flow.status.isFinished
    do {
      let driver = FlowDriver(session, patience: patience, respond: answer)
      let profile = try await profile(try await driver.runOrCancel())
      guard profile.granted.isSuperset(of: required(profile)) else {
        throw FreedomIDError.accessDenied
      }
      if isShown { await presenter()?.finished(.authorized) }
      return profile
    } catch {
      if isShown { await presenter()?.finished(FreedomIDEnd(error)) }
      throw error
    }
  }

  /// Returns the profile of a flow that has succeeded.
  ///
  /// In mode `oidc` the flow's result has only the account, whose claims are the profile.
  private func profile(_ flow: Flow) async throws -> GrantedProfile {
    let result = try flow.requireNoFailure().result
    guard result?["profile"] == nil, result?["granted"] == nil,
      let account = result?["account"]?.stringValue
    else { return try GrantedProfile(flow) }
    let reply = try await client.call(AccountGet(account: AccountID(account)))
    return try GrantedProfile(claims: reply.account.profile ?? [:], of: account, grants)
  }

  /// The grants without which the authorization fails.
  ///
  /// A claim of OpenID Connect may be missing although the person granted it, so one is enough.
  private func required(_ profile: GrantedProfile) -> Set<DataGrants> {
    guard profile.isOfClaims else { return Set(grants) }
    return profile.granted.isEmpty ? Set(grants) : []
  }

  private func answer(_ flow: Flow, _ fault: AnswerFault?) async throws -> FlowInput? {
    let step = flow.step ?? .wait(.init(for: "usherd"))
    let problem = try FreedomIDProblem(flow, fault)
    let page = FreedomIDPage(step)
    let screen = FreedomIDScreen.screen(for: step)
    guard page != nil || screen != nil else {
      throw KitError(.notConfigured, "the SDK has no screen for a step \(step.kind.rawValue)")
    }
    guard let presenter = presenter() else {
      throw KitError(.cancelled, "the presenter was deallocated")
    }
    let answer: FreedomIDAnswer =
      if let page {
        await presenter.answer(page, problem: problem)
      } else if case .permissions(let permissions) = screen {
        try await presenter.decide(on: permissions, problem)
      } else if let screen {
        await presenter.answer(screen, problem: problem)
      } else {
        .stay
      }
    switch answer.act {
    case .submit(let input): return input
    case .stay: return nil
    case .giveUp: throw CancellationError()
    case .unable: throw KitError(.notConfigured, "the app's presenter opens no pages")
    }
  }
}

extension FreedomIDPresenter {
  /// Asks the person to decide on the permissions, all of which the app needs. After an answer that
  /// leaves one out the screen is shown once more, with the problem; a second such answer counts as
  /// a denial.
  fileprivate func decide(
    on permissions: FreedomIDScreen.Permissions, _ problem: FreedomIDProblem?
  ) async throws -> FreedomIDAnswer {
    for problem in [problem, .allNeeded] {
      try Task.checkCancellation()
      let answer = await answer(.permissions(permissions), problem: problem)
      guard case .submit(.granted(let granted)) = answer.act, !permissions.areComplete(granted)
      else { return answer }
    }
    return permissions.deny()
  }
}

extension FreedomIDScreen.Permissions {
  /// Whether these grants, with those that the person has given before, are all permissions.
  fileprivate func areComplete(_ granted: [String]) -> Bool {
    permissions.allSatisfy { $0.isRemembered || granted.contains($0.grant.rawValue) }
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
