/// Receives the progress and the result of a verification.
///
/// A task of the SDK calls it, one call at a time, in the order of the events. The requirements are
/// `async` so that they are called on the delegate's actor: a delegate that is a class of
/// `@MainActor` is called on the main thread, as by the SDK, and any other on no particular thread.
/// The methods of a delegate need not be `async`. A call that blocks delays only the later calls.
public protocol TCTrueSDKDelegate: AnyObject, Sendable {
  /// Reports that the verification has reached a state. The last state is reported before the
  /// profile.
  ///
  /// `otpInitiated` is reported once for each code that is sent, `otpReceived` once for the code
  /// that Truecaller accepts. After a wrong code only ``didFailToReceiveTrueProfileWithError(_:)``
  /// is called and `otpInitiated` is not reported again, because no other code was sent.
  func verificationStatusChanged(to verificationState: TCVerificationState) async

  /// Reports that the verification has succeeded. This is the last call about it.
  func didReceive(_ profile: TCTrueProfile) async

  /// Reports that an attempt, or the whole verification, has failed.
  ///
  /// While ``TCTrueSDK/tokenTtl()`` is not nil, a code can still be submitted. After
  /// `verificationComplete` or `verifiedBefore` the number is verified and only the profile is
  /// missing: ``TCTrueSDK/accessTokenForOTPVerification()`` has the token.
  func didFailToReceiveTrueProfileWithError(_ error: TCError) async
}

extension TCTrueSDKDelegate {
  /// Does nothing. The default makes the method optional, as in the SDK.
  public func verificationStatusChanged(to verificationState: TCVerificationState) async {}
}

/// Marks the screen of the app on which a phone number and a code are entered.
///
/// The protocol has no requirements, as in the SDK. The program must set such an object, because
/// its presence shows that a person can be asked (SDK documentation, "viewDelegate needs to be set
/// on the mobile number entry screen").
public protocol TCTrueSDKViewDelegate: AnyObject, Sendable {}
