// SDK documentation, "Duplicated Registered Information" and "Check Available ID". An operator who
// does not want to reveal who is registered can forbid these calls: `registration_checks`.

extension BSA {
  /// The calls to BSA, the provider that FNSValue operates.
  public enum APICaller {}
}

extension BSA.APICaller {
  /// Checks whether an e-mail address or a phone number is registered already.
  ///
  /// - Parameters:
  ///   - verifyData: The address, or the number with or without `+`.
  ///   - verifyType: The type of `verifyData`.
  ///   - onNotDulplicateUser: Called if the contact is not registered.
  ///   - onDulplicateUser: Called if the contact is registered.
  ///   - onFailed: Called with BSA's rtCode, or with 2002 if the data is blank.
  ///   - onError: Called if there is no answer, or the daemon does not permit the check.
  ///   - onTotalLog: Called with log lines, which contain no secrets.
  ///   - onCompleted: Called last, after the callback with the outcome.
  ///   - disposeBag: The bag that cancels the call.
  public static func checkDuplicateUserData(
    verifyData: String, verifyType: BSA.Enums.VerifyType,
    @_inheritActorContext onNotDulplicateUser: @escaping @isolated(any) @Sendable () -> Void,
    @_inheritActorContext onDulplicateUser: @escaping @isolated(any) @Sendable () -> Void,
    @_inheritActorContext onFailed: @escaping BSA.OnFailed,
    @_inheritActorContext onError: @escaping BSA.OnError,
    @_inheritActorContext onTotalLog: BSA.OnTotalLog? = nil,
    @_inheritActorContext onCompleted: BSA.OnCompleted? = nil, disposeBag: any BSA.Disposer
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    callbacks.run("checkDuplicateUserData", in: disposeBag) { service, log in
      try await service.isDuplicate(verifyData, verifyType, log)
    } answer: {
      await BSA.deliver($0 ? onDulplicateUser : onNotDulplicateUser)
    }
  }

  /// Checks whether an e-mail address or a phone number is registered already, with the argument
  /// labels of the table in the SDK documentation.
  public static func checkDuplicateUserData(
    verifyData: String, verifyType: BSA.Enums.VerifyType,
    @_inheritActorContext onNotDuplicateUser: @escaping @isolated(any) @Sendable () -> Void,
    @_inheritActorContext onDuplicateUser: @escaping @isolated(any) @Sendable () -> Void,
    @_inheritActorContext onFailed: @escaping BSA.OnFailed,
    @_inheritActorContext onError: @escaping BSA.OnError,
    @_inheritActorContext onTotalLog: BSA.OnTotalLog? = nil,
    @_inheritActorContext onCompleted: BSA.OnCompleted? = nil, disposeBag: any BSA.Disposer
  ) {
    checkDuplicateUserData(
      verifyData: verifyData, verifyType: verifyType, onNotDulplicateUser: onNotDuplicateUser,
      onDulplicateUser: onDuplicateUser, onFailed: onFailed, onError: onError,
      onTotalLog: onTotalLog, onCompleted: onCompleted, disposeBag: disposeBag)
  }

  /// Returns whether an e-mail address or a phone number is registered at BSA already.
  public static func checkDuplicateUserData(
    verifyData: String, verifyType: BSA.Enums.VerifyType
  ) async throws(BSAError) -> Bool {
    try await BSA.call { try await $0.isDuplicate(verifyData, verifyType, .none) }
  }

  /// Checks whether a user key, the person's id, is available.
  ///
  /// - Parameters:
  ///   - userKey: The user key. BSA decides which ones it accepts.
  ///   - onUserKeyAvailable: Called if the user key is free. A later sign-up fails with 2009 if
  ///     another person has taken it by then.
  ///   - onUserKeyNotAvailable: Called if the user key is taken.
  ///   - onFailed: Called with BSA's rtCode, or with 2002 if the user key is blank.
  ///   - onError: Called if there is no answer, or the daemon does not permit the check.
  ///   - onTotalLog: Called with log lines, which contain no secrets.
  ///   - onCompleted: Called last, after the callback with the outcome.
  ///   - disposeBag: The bag that cancels the call.
  public static func checkUserKeyAvailable(
    userKey: String,
    @_inheritActorContext onUserKeyAvailable: @escaping @isolated(any) @Sendable () -> Void,
    @_inheritActorContext onUserKeyNotAvailable: @escaping @isolated(any) @Sendable () -> Void,
    @_inheritActorContext onFailed: @escaping BSA.OnFailed,
    @_inheritActorContext onError: @escaping BSA.OnError,
    @_inheritActorContext onTotalLog: BSA.OnTotalLog? = nil,
    @_inheritActorContext onCompleted: BSA.OnCompleted? = nil, disposeBag: any BSA.Disposer
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    callbacks.run("checkUserKeyAvailable", in: disposeBag) { service, log in
      try await service.isAvailable(userKey, log)
    } answer: {
      await BSA.deliver($0 ? onUserKeyAvailable : onUserKeyNotAvailable)
    }
  }

  /// Returns whether a user key, the person's id, is available at BSA.
  public static func checkUserKeyAvailable(userKey: String) async throws(BSAError) -> Bool {
    try await BSA.call { try await $0.isAvailable(userKey, .none) }
  }
}
