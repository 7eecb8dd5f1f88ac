import UsherClient

// "Authorize a User" of the seed. The static calls are those of the SDK.

extension FreedomID {
  /// Asks a person for members of their profile, and waits for what they grant.
  ///
  /// The person logs in where nobody is, chooses an account, proves to be at this machine and
  /// decides. What was granted to this app before is not asked again; nothing is asked where that
  /// is all.
  ///
  /// When its task is cancelled, so is the flow: ``FreedomIDError/userCanceled``, unless it had
  /// ended by then. A restart of the daemon, or a lost connection, is no harm: the daemon is waited
  /// for, 10 s at most, and an answer that got lost meanwhile is asked for once more. Two calls at
  /// a time are two authorizations, each with its own screens.
  ///
  /// - Parameters:
  ///   - presenter: Shows the screens.
  ///   - grants: What is asked for. None at all is ``FreedomIDError/dataGrantsCanNotBeEmpty``,
  ///     before anything is shown.
  public func authorize(
    presenter: any FreedomIDPresenter, grants: [DataGrants]
  ) async throws(FreedomIDError) -> GrantedProfile {
    try await authorize(grants) { presenter }
  }

  /// ``authorize(presenter:grants:)-method`` for a program that wants to be called back.
  ///
  /// The presenter is held weakly but while it shows a screen, as what a view controller presents
  /// holds it: when it is gone before the next screen, the authorization is given up,
  /// ``FreedomIDError/userCanceled``.
  ///
  /// - Parameters:
  ///   - presenter: Shows the screens.
  ///   - grants: What is asked for.
  ///   - completion: Called exactly once, by a task of its own: on no particular thread and on no
  ///     actor, maybe before this returns.
  /// - Returns: A way to give up.
  @discardableResult
  public func authorize(
    presenter: any FreedomIDPresenter, grants: [DataGrants],
    completion: @escaping @Sendable (Result<GrantedProfile, FreedomIDError>) -> Void
  ) -> FreedomIDTask {
    let find = { @Sendable [weak presenter] in presenter }
    return FreedomIDTask(
      task: callBack(completion) { () async throws(FreedomIDError) in
        try await self.authorize(grants, find)
      })
  }

  /// ``authorize(presenter:grants:)-method`` of what was created;
  /// ``FreedomIDError/configurationError`` where nothing was.
  public static func authorize(
    presenter: any FreedomIDPresenter, grants: [DataGrants]
  ) async throws(FreedomIDError) -> GrantedProfile {
    try await current().authorize(presenter: presenter, grants: grants)
  }

  /// ``authorize(presenter:grants:completion:)-method`` of what was created;
  /// ``FreedomIDError/configurationError`` where nothing was.
  @discardableResult
  public static func authorize(
    presenter: any FreedomIDPresenter, grants: [DataGrants],
    completion: @escaping @Sendable (Result<GrantedProfile, FreedomIDError>) -> Void
  ) -> FreedomIDTask {
    do throws(FreedomIDError) {
      return try current().authorize(
        presenter: presenter, grants: grants, completion: completion)
    } catch {
      return FreedomIDTask(
        task: callBack(completion) { () async throws(FreedomIDError) in throw error })
    }
  }

  private func authorize(
    _ grants: [DataGrants], _ presenter: @escaping @Sendable () -> (any FreedomIDPresenter)?
  ) async throws(FreedomIDError) -> GrantedProfile {
    do {
      try Task.checkCancellation()
      let clears = timesCleared
      // Cancelling does not end this call: whether there is a flow would not be known.
      let session = try await Task { try await begin(grants) }.value
      if timesCleared != clears {
        _ = try? await session.cancel()
        throw KitError(.cancelled, "the SDK was cleared meanwhile")
      }
      let authorization = Authorization(session: session, presenter: presenter, pace: pace)
      return try await authorization.outcome()
    } catch {
      throw FreedomIDError(error)
    }
  }
}

/// An authorization that is under way.
public struct FreedomIDTask: Sendable {
  let task: Task<Void, Never>

  /// Gives it up: the completion gets ``FreedomIDError/userCanceled``, unless the authorization had
  /// ended by then.
  ///
  /// Cancelling twice, or what has ended, changes nothing.
  public func cancel() { task.cancel() }
}
