// "Sign Up" of the seed.

extension BSA.APICaller {
  /// Registers the person and this device.
  ///
  /// A local authentication by ``BSA/SignUpData/UserData/authType`` has to come first, by
  /// ``BSA/LocalAuth``, at most the daemon's `local_auth_seconds` ago: else it is 9009, and nothing
  /// was sent. What is saved then is what ``BSA/loadUserKey()`` and its like give.
  ///
  /// - Parameters:
  ///   - userData: With all of its members.
  ///   - onSuccess: The person is registered.
  ///   - onFailed: 3002 where an agreement is missing, 2009 or 2019 where the user key or a contact
  ///     was taken meanwhile, 3006 where the disposeToken is not good, and what else BSA says.
  ///   - onError: Nobody answered, or the answer got lost: the person may be registered.
  ///   - onTotalLog: Gets what happens, without secrets.
  ///   - onCompleted: Comes last, whichever of the others came.
  ///   - disposeBag: Cancels the call, and the sign-up as long as nothing was sent.
  public static func requestSignUp(
    userData: BSA.SignUpData.UserData, onSuccess: @escaping @Sendable () -> Void,
    onFailed: @escaping BSA.OnFailed, onError: @escaping BSA.OnError,
    onTotalLog: BSA.OnTotalLog? = nil, onCompleted: BSA.OnCompleted? = nil,
    disposeBag: DisposeBag
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    callbacks.run("requestSignUp", in: disposeBag) { service, log async throws(BSAError) in
      try await service.signUp(userData, log)
    } answer: {
      onSuccess()
    }
  }

  /// Registers the person and this device, and waits until that is done.
  ///
  /// It asks as the form with callbacks does. When the task is cancelled, so is the sign-up as long
  /// as nothing was sent.
  public static func requestSignUp(
    userData: BSA.SignUpData.UserData
  ) async throws(BSAError) {
    try await BSA.service.signUp(userData, .none)
  }
}
