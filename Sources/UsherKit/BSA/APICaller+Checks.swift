// "Duplicated Registered Information" and "Check Available ID" of the seed. The daemon answers them
// where its configuration lets it (`registration_checks`): they tell who is a member.

extension BSA {
  /// The calls that ask BSA.
  public enum APICaller {}
}

extension BSA.APICaller {
  /// Looks whether an e-mail address or a phone number is registered already.
  ///
  /// - Parameters:
  ///   - verifyData: The address, or the number with or without `+`.
  ///   - verifyType: What it is.
  ///   - onNotDulplicateUser: It is not.
  ///   - onDulplicateUser: It is.
  ///   - onFailed: 2002 where the data cannot be what it is said to be.
  ///   - onError: Nobody answered.
  ///   - onTotalLog: Gets what happens, without secrets.
  ///   - onCompleted: Comes last, whichever of the others came.
  ///   - disposeBag: Cancels the call.
  public static func checkDuplicateUserData(
    verifyData: String, verifyType: BSA.Enums.VerifyType,
    onNotDulplicateUser: @escaping @Sendable () -> Void,
    onDulplicateUser: @escaping @Sendable () -> Void, onFailed: @escaping BSA.OnFailed,
    onError: @escaping BSA.OnError, onTotalLog: BSA.OnTotalLog? = nil,
    onCompleted: BSA.OnCompleted? = nil, disposeBag: DisposeBag
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    callbacks.run("checkDuplicateUserData", in: disposeBag) {
      service, log async throws(BSAError) in
      try await service.isDuplicate(verifyData, verifyType, log)
    } answer: {
      $0 ? onDulplicateUser() : onNotDulplicateUser()
    }
  }

  /// The same, with the spelling of the seed's table.
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

  /// Waits for whether an e-mail address or a phone number is registered already.
  public static func checkDuplicateUserData(
    verifyData: String, verifyType: BSA.Enums.VerifyType
  ) async throws(BSAError) -> Bool {
    try await BSA.service.isDuplicate(verifyData, verifyType, .none)
  }

  /// Looks whether a person may have this id.
  ///
  /// - Parameters:
  ///   - userKey: 4 to 64 of letters, digits and `._-@`.
  ///   - onUserKeyAvailable: It is free. It may be taken before the sign-up: 2009.
  ///   - onUserKeyNotAvailable: It is taken.
  ///   - onFailed: 2002 where it can be none.
  ///   - onError: Nobody answered.
  ///   - onTotalLog: Gets what happens, without secrets.
  ///   - onCompleted: Comes last, whichever of the others came.
  ///   - disposeBag: Cancels the call.
  public static func checkUserKeyAvailable(
    userKey: String, onUserKeyAvailable: @escaping @Sendable () -> Void,
    onUserKeyNotAvailable: @escaping @Sendable () -> Void, onFailed: @escaping BSA.OnFailed,
    onError: @escaping BSA.OnError, onTotalLog: BSA.OnTotalLog? = nil,
    onCompleted: BSA.OnCompleted? = nil, disposeBag: DisposeBag
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    callbacks.run("checkUserKeyAvailable", in: disposeBag) {
      service, log async throws(BSAError) in
      try await service.isAvailable(userKey, log)
    } answer: {
      $0 ? onUserKeyAvailable() : onUserKeyNotAvailable()
    }
  }

  /// Waits for whether a person may have this id.
  public static func checkUserKeyAvailable(userKey: String) async throws(BSAError) -> Bool {
    try await BSA.service.isAvailable(userKey, .none)
  }
}
