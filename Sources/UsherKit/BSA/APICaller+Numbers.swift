import UsherCore

// "OTP Number Request" and "OTP Number Validation" of the seed.

extension BSA.APICaller {
  /// Has a number sent to a contact.
  ///
  /// Where one is waited for it is sent once more: before the daemon's `resend_seconds` are over that
  /// is refused with 10001, where BSA has no code for it.
  ///
  /// - Parameters:
  ///   - sendType: How it is sent.
  ///   - sendTarget: The address, or the number with or without `+`.
  ///   - clientKey: The daemon compares it with the configured one: another is 2000.
  ///   - bundleIdentifier: The same.
  ///   - onSuccess: It was sent.
  ///   - onFailed: It was not.
  ///   - onError: Nobody answered, or the answer got lost: it may have been sent.
  ///   - onTotalLog: Gets what happens, without secrets.
  ///   - onCompleted: Comes last, whichever of the others came.
  ///   - disposeBag: Cancels the call, and the number with it.
  public static func requestSendOTPNumber(
    sendType: OTPSendType, sendTarget: String, clientKey: String, bundleIdentifier: String,
    onSuccess: @escaping @Sendable () -> Void, onFailed: @escaping BSA.OnFailed,
    onError: @escaping BSA.OnError, onTotalLog: BSA.OnTotalLog? = nil,
    onCompleted: BSA.OnCompleted? = nil, disposeBag: DisposeBag
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    let app = ContactService.App(
      clientKey: Secret(clientKey), bundleIdentifier: bundleIdentifier)
    callbacks.run("requestSendOTPNumber", in: disposeBag) { service, log async throws(BSAError) in
      try await service.request(BSAContact(type: sendType, target: sendTarget), app, log)
    } answer: {
      onSuccess()
    }
  }

  /// As the seed's heading calls it.
  @available(
    *, deprecated,
    renamed:
      "requestSendOTPNumber(sendType:sendTarget:clientKey:bundleIdentifier:onSuccess:onFailed:onError:onTotalLog:onCompleted:disposeBag:)"
  )
  public static func requestOTPNumberSend(
    sendType: OTPSendType, sendTarget: String, clientKey: String, bundleIdentifier: String,
    onSuccess: @escaping @Sendable () -> Void, onFailed: @escaping BSA.OnFailed,
    onError: @escaping BSA.OnError, onTotalLog: BSA.OnTotalLog? = nil,
    onCompleted: BSA.OnCompleted? = nil, disposeBag: DisposeBag
  ) {
    requestSendOTPNumber(
      sendType: sendType, sendTarget: sendTarget, clientKey: clientKey,
      bundleIdentifier: bundleIdentifier, onSuccess: onSuccess, onFailed: onFailed,
      onError: onError, onTotalLog: onTotalLog, onCompleted: onCompleted, disposeBag: disposeBag)
  }

  /// Has a number sent to a contact, and waits until it was.
  ///
  /// The parameters are those of the form with callbacks. When the task is cancelled, so is the
  /// number.
  public static func requestSendOTPNumber(
    sendType: OTPSendType, sendTarget: String, clientKey: String, bundleIdentifier: String
  ) async throws(BSAError) {
    let app = ContactService.App(
      clientKey: Secret(clientKey), bundleIdentifier: bundleIdentifier)
    try await BSA.service.request(BSAContact(type: sendType, target: sendTarget), app, .none)
  }

  /// Verifies a number that the person got.
  ///
  /// The contact is the one of the request, which may have been made before a restart of the program
  /// or of usherd. After a wrong number another may be handed in, up to the limit: then it is 3005,
  /// and a number has to be requested again.
  ///
  /// - Parameters:
  ///   - sendType: As it was requested.
  ///   - sendTarget: As it was requested.
  ///   - otpNumber: What the person typed.
  ///   - clientKey: As it was requested: another is 2000. Of a request that was made before a restart
  ///     of the program, it is not compared.
  ///   - onValidOTPNumber: It is right; with the disposeToken for the sign-up, good for 30 minutes.
  ///     It is a handle of the daemon's: BSA's own stays there.
  ///   - onInvalidOTPNumber: It is wrong.
  ///   - onFailed: 3006 where its time is over, or none was requested.
  ///   - onError: Nobody answered, or the answer got lost: hand the number in once more.
  ///   - onTotalLog: Gets what happens, without secrets.
  ///   - onCompleted: Comes last, whichever of the others came.
  ///   - disposeBag: Cancels the call, and the number with it.
  public static func verifyOTPNumber(
    sendType: OTPSendType, sendTarget: String, otpNumber: String, clientKey: String,
    onValidOTPNumber: @escaping @Sendable (_ disposeToken: String) -> Void,
    onInvalidOTPNumber: @escaping @Sendable () -> Void, onFailed: @escaping BSA.OnFailed,
    onError: @escaping BSA.OnError, onTotalLog: BSA.OnTotalLog? = nil,
    onCompleted: BSA.OnCompleted? = nil, disposeBag: DisposeBag
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    let contact = BSAContact(type: sendType, target: sendTarget)
    let (number, key) = (Secret(otpNumber), Secret(clientKey))
    callbacks.run("verifyOTPNumber", in: disposeBag) { service, log async throws(BSAError) in
      try await service.verify(contact, number, clientKey: key, log)
    } answer: { disposeToken in
      if let disposeToken { onValidOTPNumber(disposeToken) } else { onInvalidOTPNumber() }
    }
  }

  /// Verifies a number that the person got, and waits for what comes of it.
  ///
  /// The parameters are those of the form with callbacks. When the task is cancelled, so is the
  /// number.
  ///
  /// - Returns: The disposeToken; nil where the number is wrong.
  public static func verifyOTPNumber(
    sendType: OTPSendType, sendTarget: String, otpNumber: String, clientKey: String
  ) async throws(BSAError) -> String? {
    try await BSA.service.verify(
      BSAContact(type: sendType, target: sendTarget), Secret(otpNumber),
      clientKey: Secret(clientKey), .none)
  }
}
