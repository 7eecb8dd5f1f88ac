import UsherClient

// SDK documentation, "Authorize a User". The static functions are those of the SDK.

extension FreedomID {
  /// Asks a person to grant members of their profile, and returns what is granted.
  ///
  /// With a provider in mode `device` the person logs in if there is no account, chooses an
  /// account, authenticates at this machine with a fingerprint or a passcode, and decides. In the
  /// modes `oauth2` and `oidc` the person does so on a page of Freedom ID in a browser.
  ///
  /// The person needs to grant all of `grants`. If one is not granted, the call throws
  /// ``FreedomIDError/accessDenied``.
  ///
  /// Cancelling the task cancels the flow: ``FreedomIDError/userCanceled``, unless the flow has
  /// ended by then. The call survives a restart of the daemon or a lost connection of up to 10 s;
  /// an answer that was lost meanwhile is asked for again. Concurrent calls are separate
  /// authorizations with their own screens.
  ///
  /// - Parameters:
  ///   - presenter: Shows the screens.
  ///   - grants: The members to ask for. An empty list throws
  ///     ``FreedomIDError/dataGrantsCanNotBeEmpty`` before a screen is shown.
  public func authorize(
    presenter: any FreedomIDPresenter, grants: [DataGrants]
  ) async throws(FreedomIDError) -> GrantedProfile {
    try await authorize(grants) { presenter }
  }

  /// Calls ``authorize(presenter:grants:)-method`` and passes its result to `completion`.
  ///
  /// The presenter is held weakly, except while it shows a screen. If it is deallocated before the
  /// next screen, the authorization is cancelled: ``FreedomIDError/userCanceled``.
  ///
  /// - Parameters:
  ///   - presenter: Shows the screens.
  ///   - grants: The members to ask for.
  ///   - completion: Called exactly once: on the actor that the closure belongs to, such as the
  ///     main actor, else on no particular thread, possibly before this returns.
  /// - Returns: A task that can be cancelled.
  @discardableResult
  public func authorize(
    presenter: any FreedomIDPresenter, grants: [DataGrants],
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<GrantedProfile, FreedomIDError>) -> Void
  ) -> FreedomIDTask {
    let find = { @Sendable [weak presenter] in presenter }
    return FreedomIDTask(
      task: callBack(completion) { () async throws(FreedomIDError) in
        try await self.authorize(grants, find)
      })
  }

  /// Calls ``authorize(presenter:grants:)-method`` of the ``FreedomID`` object that was created
  /// last; throws ``FreedomIDError/configurationError`` if none was created.
  public static func authorize(
    presenter: any FreedomIDPresenter, grants: [DataGrants]
  ) async throws(FreedomIDError) -> GrantedProfile {
    try await current().authorize(presenter: presenter, grants: grants)
  }

  /// Calls ``authorize(presenter:grants:completion:)-method`` of the ``FreedomID`` object that was
  /// created last; completes with ``FreedomIDError/configurationError`` if none was created.
  @discardableResult
  public static func authorize(
    presenter: any FreedomIDPresenter, grants: [DataGrants],
    @_inheritActorContext completion:
      @escaping @isolated(any) @Sendable (Result<GrantedProfile, FreedomIDError>) -> Void
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
    guard !grants.isEmpty else { throw .dataGrantsCanNotBeEmpty }
    return try await translating(to: FreedomIDError.self) {
      try await running.run { [self] in
        let authorization = FreedomAuthorization(
          session: try await begin(grants), client: provider.client, grants: grants,
          presenter: presenter, patience: patience)
        return try await authorization.outcome()
      }
    }
  }
}

/// An authorization in progress, which the app can cancel.
public struct FreedomIDTask: Sendable {
  let task: Task<Void, Never>

  /// Cancels the authorization: the completion gets ``FreedomIDError/userCanceled``, unless the
  /// authorization has ended by then.
  ///
  /// Cancelling again, or after the end, has no effect.
  public func cancel() { task.cancel() }
}
