/// The state of a verification, with the SDK's raw values (SDK documentation, "Possible
/// Verification states").
public enum TCVerificationState: Int, Sendable, Equatable, CaseIterable {
  /// Truecaller sent a code by SMS: ask the person for it.
  case otpInitiated = 0
  /// Truecaller has accepted the person's code.
  case otpReceived = 1
  /// The phone number is verified, and the access token is available. The name is written and the
  /// profile read only after this.
  case verificationComplete = 2
  /// The number was verified on this installation before, so no code is needed.
  case verifiedBefore = 3

  /// Creates the state from the state of the daemon's flow, which has the SDK's name; nil for any
  /// other state, such as `creating` or `verifying`.
  init?(flowState state: String) {
    guard let same = Self.allCases.first(where: { "\($0)" == state }) else { return nil }
    self = same
  }
}

/// An event of the verification of a phone number.
public enum TCVerificationEvent: Sendable, Equatable {
  case state(TCVerificationState)
  /// The verification has succeeded. This is the last event.
  case profile(TCTrueProfile)
  /// An attempt, or the whole verification, has failed.
  case failed(TCError)
}
