import UsherCore

// The one-time numbers that verify a contact (SDK documentation, "OTP Number Request" and "OTP
// Number Validation").

extension BSA.APICaller {
  /// Sends a one-time number to a contact, to verify that the person receives messages there.
  ///
  /// If the contact has a pending OTP number, another one is sent. BSA may refuse that with its
  /// rtCode. If the operator has set `resend_seconds`, the daemon refuses it with 10001 until then.
  ///
  /// - Parameters:
  ///   - sendType: The channel: e-mail or SMS.
  ///   - sendTarget: The e-mail address, or the phone number with or without `+`.
  ///   - clientKey: The client key. If it differs from the one in the daemon's configuration, the
  ///     call fails with 2000.
  ///   - bundleIdentifier: The bundle identifier, compared in the same way.
  ///   - onSuccess: Called if the OTP number was sent.
  ///   - onFailed: Called with an rtCode if it was not sent.
  ///   - onError: Called if there is no answer: it may have been sent.
  ///   - onTotalLog: Called with log lines, which contain no secrets.
  ///   - onCompleted: Called last, after the callback with the outcome.
  ///   - disposeBag: The bag that cancels the call and the pending OTP number.
  public static func requestSendOTPNumber(
    sendType: OTPSendType, sendTarget: String, clientKey: String, bundleIdentifier: String,
    @_inheritActorContext onSuccess: @escaping @isolated(any) @Sendable () -> Void,
    @_inheritActorContext onFailed: @escaping BSA.OnFailed,
    @_inheritActorContext onError: @escaping BSA.OnError,
    @_inheritActorContext onTotalLog: BSA.OnTotalLog? = nil,
    @_inheritActorContext onCompleted: BSA.OnCompleted? = nil, disposeBag: any BSA.Disposer
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    let app = ContactService.App(
      clientKey: Secret(clientKey), bundleIdentifier: bundleIdentifier)
    let contact = ContactTarget(type: sendType, target: sendTarget)
    callbacks.run("requestSendOTPNumber", in: disposeBag) { service, log in
      try await service.contacts.request(contact, app, log)
    } answer: {
      await BSA.deliver(onSuccess)
    }
  }

  /// Sends an OTP number, under the name that a heading of the SDK documentation uses.
  @available(
    *, deprecated,
    renamed:
      "requestSendOTPNumber(sendType:sendTarget:clientKey:bundleIdentifier:onSuccess:onFailed:onError:onTotalLog:onCompleted:disposeBag:)"
  )
  public static func requestOTPNumberSend(
    sendType: OTPSendType, sendTarget: String, clientKey: String, bundleIdentifier: String,
    @_inheritActorContext onSuccess: @escaping @isolated(any) @Sendable () -> Void,
    @_inheritActorContext onFailed: @escaping BSA.OnFailed,
    @_inheritActorContext onError: @escaping BSA.OnError,
    @_inheritActorContext onTotalLog: BSA.OnTotalLog? = nil,
    @_inheritActorContext onCompleted: BSA.OnCompleted? = nil, disposeBag: any BSA.Disposer
  ) {
    requestSendOTPNumber(
      sendType: sendType, sendTarget: sendTarget, clientKey: clientKey,
      bundleIdentifier: bundleIdentifier, onSuccess: onSuccess, onFailed: onFailed,
      onError: onError, onTotalLog: onTotalLog, onCompleted: onCompleted, disposeBag: disposeBag)
  }

  /// Sends an OTP number to a contact, and returns when it was sent.
  ///
  /// The parameters are those of the overload with callbacks. Cancelling the task cancels the
  /// pending OTP number.
  public static func requestSendOTPNumber(
    sendType: OTPSendType, sendTarget: String, clientKey: String, bundleIdentifier: String
  ) async throws(BSAError) {
    let app = ContactService.App(
      clientKey: Secret(clientKey), bundleIdentifier: bundleIdentifier)
    let contact = ContactTarget(type: sendType, target: sendTarget)
    try await BSA.call { try await $0.contacts.request(contact, app, .none) }
  }

  /// Verifies an OTP number that the person received.
  ///
  /// The request may have been made before a restart of the program or of usherd. After a wrong OTP
  /// number this can be called again. If the operator has set `max_wrong_codes`, the call fails
  /// with 3005 at that limit, and a new OTP number must be requested.
  ///
  /// - Parameters:
  ///   - sendType: The channel of the request.
  ///   - sendTarget: The contact of the request.
  ///   - otpNumber: The OTP number that the person typed.
  ///   - clientKey: The client key of the request. The daemon compares it, and the call fails with
  ///     2000 if it is another one.
  ///   - onValidOTPNumber: Called if the OTP number is correct, with the disposeToken for the
  ///     sign-up, which is valid for 30 minutes. It is a handle for BSA's own token, which stays in
  ///     the daemon.
  ///   - onInvalidOTPNumber: Called if the OTP number is wrong.
  ///   - onFailed: Called with 3006 if the OTP number has expired or none was requested, or with
  ///     another rtCode.
  ///   - onError: Called if there is no answer: verify the OTP number again.
  ///   - onTotalLog: Called with log lines, which contain no secrets.
  ///   - onCompleted: Called last, after the callback with the outcome.
  ///   - disposeBag: The bag that cancels the call and the pending OTP number.
  public static func verifyOTPNumber(
    sendType: OTPSendType, sendTarget: String, otpNumber: String, clientKey: String,
    @_inheritActorContext onValidOTPNumber:
      @escaping @isolated(any) @Sendable (_ disposeToken: String) -> Void,
    @_inheritActorContext onInvalidOTPNumber: @escaping @isolated(any) @Sendable () -> Void,
    @_inheritActorContext onFailed: @escaping BSA.OnFailed,
    @_inheritActorContext onError: @escaping BSA.OnError,
    @_inheritActorContext onTotalLog: BSA.OnTotalLog? = nil,
    @_inheritActorContext onCompleted: BSA.OnCompleted? = nil, disposeBag: any BSA.Disposer
  ) {
    let callbacks = BSACallbacks(
      failed: onFailed, error: onError, totalLog: onTotalLog, completed: onCompleted)
    let contact = ContactTarget(type: sendType, target: sendTarget)
    let (number, key) = (Secret(otpNumber), Secret(clientKey))
    callbacks.run("verifyOTPNumber", in: disposeBag) { service, log in
      try await service.contacts.verify(contact, number, clientKey: key, log)
    } answer: { disposeToken in
      if let disposeToken {
        await BSA.deliver(onValidOTPNumber, disposeToken)
      } else {
        await BSA.deliver(onInvalidOTPNumber)
      }
    }
  }

  /// Verifies an OTP number that the person received.
  ///
  /// The parameters are those of the overload with callbacks. Cancelling the task cancels the
  /// pending OTP number.
  ///
  /// - Returns: The disposeToken; nil if the OTP number is wrong.
  public static func verifyOTPNumber(
    sendType: OTPSendType, sendTarget: String, otpNumber: String, clientKey: String
  ) async throws(BSAError) -> String? {
    let contact = ContactTarget(type: sendType, target: sendTarget)
    return try await BSA.call {
      try await $0.contacts.verify(contact, Secret(otpNumber), clientKey: Secret(clientKey), .none)
    }
  }
}
