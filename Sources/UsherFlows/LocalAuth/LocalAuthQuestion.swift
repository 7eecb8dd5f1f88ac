package import UsherCore

/// A question of a flow to the machine's local authenticator, always about the flow's owner
/// (the page LocalAuth of the documentation).
package enum LocalAuthQuestion: Sendable, Equatable {
  /// Which methods are available to the owner; answered by ``LocalAuthAnswer/availability(_:)``.
  case availability
  /// Same as `availability`, but without asking the fingerprint reader, because an unresponsive
  /// fprintd delays the answer. Fingers are reported as unavailable.
  case passcodeAvailability
  /// One scan of any of the owner's fingers; hints may come first, then
  /// ``LocalAuthAnswer/scanned(_:)``. When the flow's step no longer says `scanning`, the reader is
  /// released and nothing more is reported.
  case scan
  /// Same as `scan`, but a match is reported as ``ScanOutcome/changed`` if the enrolled fingers are
  /// not the ones that the asker saved. An asker is a client at a provider.
  case scanOfSavedFingers
  /// Verifies a passcode; answered by ``LocalAuthAnswer/checked(_:)``.
  ///
  /// - Parameter insteadOf: The requested method that the passcode replaces; nil if a passcode was
  ///   requested.
  case check(passcode: Secret, insteadOf: LocalAuthType? = nil)
  /// Saves the currently enrolled fingers, so that later scans of the same client at the same
  /// provider are compared with them. Not answered.
  case saveFingers
}

/// The local authenticator's answer to a flow.
package enum LocalAuthAnswer: Sendable, Equatable {
  case availability(LocalAuthAvailability)
  /// The reader needs another touch; the scan continues.
  case hint(String)
  case scanned(ScanOutcome)
  case checked(PasscodeOutcome)
}

/// The methods by which this machine can authenticate the owner.
package struct LocalAuthAvailability: Sendable, Equatable {
  package var biometric: Biometric
  package var passcode: Passcode
  /// The client's latest successes, one for each method, from any of its flows. They are kept in
  /// memory only and are lost when the daemon ends.
  package var latest: [LocalAuthProof]
  /// Whether the enrolled fingers are not the ones that the asker saved; set even while the reader
  /// is locked.
  package var hasChangedFingers = false

  package enum Biometric: Sendable, Equatable {
    /// - Parameter hasChanged: Whether the enrolled fingers are not the ones that the asker saved.
    case ready(hasChanged: Bool)
    case noReader
    case notEnrolled
    case lockedOut(until: Timestamp)
    /// The bus is down, the reader is in use or unplugged, or fprintd denies access; the value is a
    /// sentence.
    case unavailable(String)
  }

  package enum Passcode: Sendable, Equatable {
    case ready
    case notEnrolled
    case lockedOut(until: Timestamp)
  }

  /// Whether a flow that requires unchanged fingers has to fail.
  var hasChanged: Bool { hasChangedFingers || biometric == .ready(hasChanged: true) }

  package init(biometric: Biometric, passcode: Passcode, latest: [LocalAuthProof] = []) {
    self.biometric = biometric
    self.passcode = passcode
    self.latest = latest
  }
}

/// The outcome of a scan.
package enum ScanOutcome: Sendable, Equatable {
  case matched
  /// A match, but the enrolled fingers are not the ones that the asker saved.
  case changed
  /// An unknown finger. Several in a row, over all flows of the owner, lock the reader.
  case missed
  /// The reader was not touched in time.
  case timedOut
  case lockedOut(until: Timestamp)
  case noReader
  case notEnrolled
  /// See ``LocalAuthAvailability/Biometric/unavailable(_:)``.
  case unavailable(String)
}

/// The outcome of a passcode check.
package enum PasscodeOutcome: Sendable, Equatable {
  case accepted
  /// - Parameter attemptsLeft: The number of wrong attempts until the next lock.
  case wrong(attemptsLeft: Int)
  /// Locked: either before the check, so this passcode may be right, or because this one was wrong
  /// once too often.
  case lockedOut(until: Timestamp)
  case notEnrolled
  /// The passcode could not be checked, or the attempt could not be stored; a sentence.
  case unavailable(String)
}
