package import UsherCore

/// A question of a flow to this machine's local authenticator, always about the flow's owner (page
/// LocalAuth in Usher.docc).
package enum LocalAuthQuestion: Sendable, Equatable {
  /// Which methods of authentication are available to the owner; answered by
  /// ``LocalAuthAnswer/availability(_:)``.
  case availability
  /// Same as `availability`, but the fingerprint reader is not asked, because an unresponsive
  /// fprintd would delay the answer. Fingers are reported as unavailable.
  case passcodeAvailability
  /// One fingerprint scan, which any enrolled finger of the user passes. Hints may come before the
  /// answer, ``LocalAuthAnswer/scanned(_:)``. When the flow's step no longer says `scanning`, the
  /// reader is released and nothing more is reported.
  case scan
  /// Same as `scan`, but a match is reported as ``ScanOutcome/changed`` if the enrolled fingers
  /// differ from those that the flow's client saved at the flow's provider.
  case scanOfSavedFingers
  /// Verifies a passcode; answered by ``LocalAuthAnswer/checked(_:)``.
  ///
  /// - Parameter insteadOf: The requested method, if the user gives a passcode in its place; nil if
  ///   a passcode was requested.
  case check(passcode: Secret, insteadOf: LocalAuthType? = nil)
}

/// The local authenticator's answer to a flow.
package enum LocalAuthAnswer: Sendable, Equatable {
  case availability(LocalAuthAvailability)
  /// The finger was not read, and the reader needs another touch; the scan continues. The value is
  /// a sentence for users.
  case hint(String)
  case scanned(ScanOutcome)
  case checked(PasscodeOutcome)
}

/// The methods by which this machine can authenticate the flow's owner.
package struct LocalAuthAvailability: Sendable, Equatable {
  package var biometric: Biometric
  package var passcode: Passcode
  /// The latest successful authentications by the flow's client, one for each method, from any flow
  /// of that client. They are kept in memory only and are lost when the daemon ends.
  package var latest: [LocalAuthProof]
  /// Whether the enrolled fingers differ from those that usherd remembered when the flow's client
  /// last asked for it at the flow's provider. It is set even while the reader is locked.
  package var hasChangedFingers = false

  package enum Biometric: Sendable, Equatable {
    /// The fingerprint reader can be used.
    ///
    /// - Parameter hasChanged: Whether the enrolled fingers differ from those that usherd
    ///   remembered when the flow's client last asked for it at the flow's provider.
    case ready(hasChanged: Bool)
    case noReader
    case notEnrolled
    case lockedOut(until: Timestamp)
    /// The reader cannot be used now: the D-Bus connection is down, the reader is in use or
    /// unplugged, or fprintd denies access. The value is a sentence.
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

/// The outcome of one fingerprint scan.
package enum ScanOutcome: Sendable, Equatable {
  case matched
  /// An enrolled finger matched, but the enrolled fingers differ from those that the flow's client
  /// saved at the flow's provider.
  case changed
  /// The finger is not enrolled. Several such scans in a row, over all flows of the owner, lock the
  /// reader.
  case missed
  /// The user did not touch the reader in time.
  case timedOut
  case lockedOut(until: Timestamp)
  case noReader
  case notEnrolled
  /// The reader cannot be used now, as in ``LocalAuthAvailability/Biometric/unavailable(_:)``.
  case unavailable(String)
}

/// The outcome of the verification of a passcode.
package enum PasscodeOutcome: Sendable, Equatable {
  case accepted
  /// The passcode is wrong.
  ///
  /// - Parameter attemptsLeft: The number of wrong attempts until the next lock.
  case wrong(attemptsLeft: Int)
  /// Passcodes are locked: either already before, so this passcode may be right, or because this
  /// passcode was wrong.
  case lockedOut(until: Timestamp)
  case notEnrolled
  /// The passcode could not be verified, or the attempt could not be stored. The value is a
  /// sentence.
  case unavailable(String)
}
