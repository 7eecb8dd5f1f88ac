// SDK documentation, "Duplicated Registered Information" and "Check Available ID". The daemon
// answers these calls only if `registration_checks` is set in its configuration, because they
// reveal who is registered.

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
  ///   - onFailed: Called with 2002 if the data is malformed, or with another rtCode.
  ///   - onError: Called if there is no answer, or the daemon does not permit the check.
  ///   - onTotalLog: Called with log lines, which contain no secrets.
  ///   - onCompleted: Called last, after the callback with the outcome.
  ///   - disposeBag: The bag that cancels the call.
  public static func checkDuplicateUserData(
    verifyData: String, verifyType: BSA.Enums.VerifyType,
    onNotDulplicateUser: @escaping @Sendable () -> Void,
    onDulplicateUser: @escaping @Sendable () -> Void, onFailed: @escaping BSA.OnFailed,
    onError: @escaping BSA.OnError, onTotalLog: BSA.OnTotalLog? = nil,
    onCompleted: BSA.OnCompleted? = nil, disposeBag: DisposeBag
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    callbacks.run("checkDuplicateUserData", in: disposeBag) { service, log in
      try await service.isDuplicate(verifyData, verifyType, log)
    } answer: {
      $0 ? onDulplicateUser() : onNotDulplicateUser()
    }
  }

  /// Checks whether an e-mail address or a phone number is registered already, with the argument
  /// labels of the table in the SDK documentation.
  public static func checkDuplicateUserData(
    verifyData: String, verifyType: BSA.Enums.VerifyType,
    onNotDuplicateUser: @escaping @Sendable () -> Void,
    onDuplicateUser: @escaping @Sendable () -> Void, onFailed: @escaping BSA.OnFailed,
    onError: @escaping BSA.OnError, onTotalLog: BSA.OnTotalLog? = nil,
    onCompleted: BSA.OnCompleted? = nil, disposeBag: DisposeBag
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
  ///   - userKey: 4 to 64 letters, digits and characters of `._-@`.
  ///   - onUserKeyAvailable: Called if the user key is free. A later sign-up fails with 2009 if
  ///     another person has taken it by then.
  ///   - onUserKeyNotAvailable: Called if the user key is taken.
  ///   - onFailed: Called with 2002 if the user key is malformed, or with another rtCode.
  ///   - onError: Called if there is no answer, or the daemon does not permit the check.
  ///   - onTotalLog: Called with log lines, which contain no secrets.
  ///   - onCompleted: Called last, after the callback with the outcome.
  ///   - disposeBag: The bag that cancels the call.
  public static func checkUserKeyAvailable(
    userKey: String, onUserKeyAvailable: @escaping @Sendable () -> Void,
    onUserKeyNotAvailable: @escaping @Sendable () -> Void, onFailed: @escaping BSA.OnFailed,
    onError: @escaping BSA.OnError, onTotalLog: BSA.OnTotalLog? = nil,
    onCompleted: BSA.OnCompleted? = nil, disposeBag: DisposeBag
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    callbacks.run("checkUserKeyAvailable", in: disposeBag) { service, log in
      try await service.isAvailable(userKey, log)
    } answer: {
      $0 ? onUserKeyAvailable() : onUserKeyNotAvailable()
    }
  }

  /// Returns whether a user key, the person's id, is available at BSA.
  public static func checkUserKeyAvailable(userKey: String) async throws(BSAError) -> Bool {
    try await BSA.call { try await $0.isAvailable(userKey, .none) }
  }
}
