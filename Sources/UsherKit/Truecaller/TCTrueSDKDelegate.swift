/// Hears what becomes of a verification.
///
/// The SDK calls it by a task of its own: on no particular thread and on no actor, one call at a
/// time, in the order in which things happened. A call that blocks keeps the later ones waiting,
/// and nothing else.
public protocol TCTrueSDKDelegate: AnyObject, Sendable {
  /// The state comes before the profile.
  ///
  /// A state is told each time that the verification comes to it, and once each time:
  /// `otpInitiated` for each code that is sent, `otpReceived` for each code that is handed in. The
  /// way back to `otpInitiated` after a wrong code is told by
  /// ``didFailToReceiveTrueProfileWithError(_:)`` alone: no other code was sent.
  func verificationStatusChanged(to verificationState: TCVerificationState)

  /// The verification has succeeded: this is the last call about it.
  func didReceive(_ profile: TCTrueProfile)

  /// An attempt, or the whole verification, came to nothing.
  ///
  /// As long as ``TCTrueSDK/tokenTtl()`` is not nil a code may be handed in (again).
  func didFailToReceiveTrueProfileWithError(_ error: TCError)
}

extension TCTrueSDKDelegate {
  /// Optional, as in the SDK.
  public func verificationStatusChanged(to verificationState: TCVerificationState) {}
}

/// Where a number and a code are entered.
///
/// It is asked for nothing, as in the SDK: that it is set says that there is somebody to ask (seed,
/// "viewDelegate needs to be set on the mobile number entry screen").
public protocol TCTrueSDKViewDelegate: AnyObject, Sendable {}
