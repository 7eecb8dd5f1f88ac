package import UsherCore

/// What a flow asks of the machine's local authenticator, always about the flow's owner (FLOWS.md
/// § Local authentication; the page LocalAuth of the documentation).
package enum LocalAuthQuestion: Sendable, Equatable {
  /// What there is for the owner; answered by ``LocalAuthNews/standing(_:)``.
  case standing
  /// The same without a look for fingers, which a fprintd that hangs can make long: they are told as
  /// unavailable.
  case passcodeStanding
  /// One scan of any of the owner's fingers: hints may come, then ``LocalAuthNews/scanned(_:)``. The
  /// reader is let go, and nothing is told any more, as soon as the flow stands at no step that says
  /// `scanning`.
  case scan
  /// The same, where a match is told as ``ScanOutcome/changed`` if other fingers are enrolled by then than
  /// those that the asker saved.
  case scanOfSavedFingers
  /// Answered by ``LocalAuthNews/checked(_:)``.
  ///
  /// - Parameter insteadOf: What the passcode is taken in place of; nil where a passcode is wanted.
  case check(passcode: Secret, insteadOf: LocalAuthType? = nil)
  /// Saves the fingers that are enrolled now: a later look by the same client at the same provider
  /// compares with them. Not answered.
  case saveFingers
}

/// What the local authenticator tells a flow.
package enum LocalAuthNews: Sendable, Equatable {
  case standing(LocalAuthStanding)
  /// The reader wants the finger once more; the scan goes on.
  case hint(String)
  case scanned(ScanOutcome)
  case checked(PasscodeOutcome)
}

/// What this machine has to know its user by.
package struct LocalAuthStanding: Sendable, Equatable {
  package var biometric: Biometric
  package var passcode: Passcode
  /// The last success of the flow's client in each way, of any flow, as far as the daemon remembers:
  /// not beyond its own end.
  package var latest: [LocalAuthProof]
  /// Whether other fingers are enrolled than those that the asker saved, also while the reader is
  /// locked.
  package var hasChangedFingers = false

  package enum Biometric: Sendable, Equatable {
    /// - Parameter hasChanged: Whether other fingers are enrolled than those that the asker saved.
    case ready(hasChanged: Bool)
    case noReader
    case notEnrolled
    case lockedOut(until: Timestamp)
    /// The bus is down, the reader in use or unplugged, fprintd not allowed to serve us; a sentence.
    case unavailable(String)
  }

  package enum Passcode: Sendable, Equatable {
    case ready
    case notEnrolled
    case lockedOut(until: Timestamp)
  }

  /// Whether a flow that checks it has to end.
  var hasChanged: Bool { hasChangedFingers || biometric == .ready(hasChanged: true) }

  package init(biometric: Biometric, passcode: Passcode, latest: [LocalAuthProof] = []) {
    self.biometric = biometric
    self.passcode = passcode
    self.latest = latest
  }
}

/// What became of a scan.
package enum ScanOutcome: Sendable, Equatable {
  case matched
  /// A match, but other fingers are enrolled than those that the asker saved.
  case changed
  /// Another finger. After so many in a row, over all flows of the owner, the reader is locked.
  case missed
  /// Nobody touched the reader in the time there is for it.
  case timedOut
  case lockedOut(until: Timestamp)
  case noReader
  case notEnrolled
  /// As ``LocalAuthStanding/Biometric/unavailable(_:)``.
  case unavailable(String)
}

/// What became of a passcode.
package enum PasscodeOutcome: Sendable, Equatable {
  case accepted
  /// - Parameter attemptsLeft: Before the next lock-out.
  case wrong(attemptsLeft: Int)
  /// This one may have been right: it was not looked at, or it was the wrong one too many.
  case lockedOut(until: Timestamp)
  case notEnrolled
  /// The count of wrong ones cannot be kept; a sentence.
  case unavailable(String)
}
