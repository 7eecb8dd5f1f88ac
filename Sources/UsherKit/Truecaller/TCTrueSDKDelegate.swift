/// Receives the progress and the result of a verification.
///
/// A task of the SDK calls it: on no particular thread and on no actor, one call at a time, in the
/// order of the events. A call that blocks delays only the later calls.
public protocol TCTrueSDKDelegate: AnyObject, Sendable {
  /// Reports that the verification has reached a state. The last state is reported before the
  /// profile.
  ///
  /// `otpInitiated` is reported once for each code that is sent, `otpReceived` once for each code
  /// that is submitted. After a wrong code only ``didFailToReceiveTrueProfileWithError(_:)`` is
  /// called and `otpInitiated` is not reported again, because no other code was sent.
  func verificationStatusChanged(to verificationState: TCVerificationState)

  /// Reports that the verification has succeeded. This is the last call about it.
  func didReceive(_ profile: TCTrueProfile)

  /// Reports that an attempt, or the whole verification, has failed.
  ///
  /// While ``TCTrueSDK/tokenTtl()`` is not nil, a code can still be submitted.
  func didFailToReceiveTrueProfileWithError(_ error: TCError)
}

extension TCTrueSDKDelegate {
  /// Does nothing. The default makes the method optional, as in the SDK.
  public func verificationStatusChanged(to verificationState: TCVerificationState) {}
}

/// Marks the screen of the app on which a phone number and a code are entered.
///
/// The protocol has no requirements, as in the SDK. The program must set such an object, because
/// its presence shows that a person can be asked (SDK documentation, "viewDelegate needs to be set
/// on the mobile number entry screen").
public protocol TCTrueSDKViewDelegate: AnyObject, Sendable {}
