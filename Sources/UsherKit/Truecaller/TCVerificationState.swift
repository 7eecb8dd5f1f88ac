/// How far a verification has come (seed, "Possible Verification states"; the SDK's numbers).
public enum TCVerificationState: Int, Sendable, Equatable, CaseIterable {
  /// A code is on its way: ask the person for it.
  case otpInitiated = 0
  /// The code was handed in.
  case otpReceived = 1
  /// The number is verified.
  case verificationComplete = 2
  /// The number was verified on this installation before: there is no code to ask for.
  case verifiedBefore = 3

  /// - Parameter word: The state of the flow: the SDK's own words, and `creating`, which has none.
  init?(word: String) {
    switch word {
    case "otpInitiated": self = .otpInitiated
    case "otpReceived": self = .otpReceived
    case "verificationComplete": self = .verificationComplete
    case "verifiedBefore": self = .verifiedBefore
    default: return nil
    }
  }
}

/// What a verification tells, in the order in which it happened.
public enum TCVerificationEvent: Sendable, Equatable {
  case state(TCVerificationState)
  /// It has succeeded; nothing comes after this.
  case profile(TCTrueProfile)
  /// An attempt, or the whole verification, came to nothing.
  case failed(TCError)
}
