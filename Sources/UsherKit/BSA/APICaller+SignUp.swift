// The sign-up (SDK documentation, "Sign Up").

extension BSA.APICaller {
  /// Registers the person and this device.
  ///
  /// Unless ``BSA/SignUpData/UserData/authType`` is `NONE`, the person must have authenticated with
  /// ``BSA/LocalAuth`` by that method, not longer ago than the daemon's `local_auth_seconds`.
  /// Otherwise this fails with 9009, and nothing is sent. After the sign-up ``BSA/loadUserKey()``
  /// and the other `load` calls return the saved values.
  ///
  /// - Parameters:
  ///   - userData: The data of the sign-up.
  ///   - onSuccess: Called if the person is registered.
  ///   - onFailed: Called with 3002 if an agreement is missing, 2009 or 2019 if the user key or a
  ///     contact is taken, 3006 if the disposeToken is invalid, or with another rtCode of BSA.
  ///   - onError: Called if there is no answer: the person may be registered.
  ///   - onTotalLog: Called with log lines, which contain no secrets.
  ///   - onCompleted: Called last, after the callback with the outcome.
  ///   - disposeBag: The bag that cancels the call, and the sign-up if it was not sent yet.
  public static func requestSignUp(
    userData: BSA.SignUpData.UserData,
    @_inheritActorContext onSuccess: @escaping @isolated(any) @Sendable () -> Void,
    @_inheritActorContext onFailed: @escaping BSA.OnFailed,
    @_inheritActorContext onError: @escaping BSA.OnError,
    @_inheritActorContext onTotalLog: BSA.OnTotalLog? = nil,
    @_inheritActorContext onCompleted: BSA.OnCompleted? = nil,
    disposeBag: any BSA.Disposer
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    callbacks.run("requestSignUp", in: disposeBag) { service, log in
      try await service.signUp(userData, log)
    } answer: {
      await BSA.deliver(onSuccess)
    }
  }

  /// Registers the person and this device, as the overload with callbacks does.
  ///
  /// Cancelling the task cancels the sign-up if it was not sent yet.
  public static func requestSignUp(
    userData: BSA.SignUpData.UserData
  ) async throws(BSAError) {
    try await BSA.call { try await $0.signUp(userData, .none) }
  }
}
