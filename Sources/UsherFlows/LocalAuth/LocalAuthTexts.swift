package import UsherAPI
import UsherCore

/// The reason why the user's finger cannot be scanned.
struct BiometricError: Equatable {
  var errorCode: LocalAuthErrorCode
  var message: String

  init(_ errorCode: LocalAuthErrorCode, _ message: String) {
    self.errorCode = errorCode
    self.message = message
  }

  /// Creates the reason from the state of the reader; nil if the reader is ready.
  init?(_ biometric: LocalAuthAvailability.Biometric, _ now: Timestamp) {
    switch biometric {
    case .ready: return nil
    case .noReader: self = .noReader
    case .notEnrolled: self = .notEnrolled
    case .lockedOut(let until): self = .locked(until, now)
    case .unavailable(let sentence): self.init(.biometricNotAvailable, sentence)
    }
  }

  static let noReader = BiometricError(
    .biometricNotSupportHardware, "this machine has no fingerprint reader")
  static let notEnrolled = BiometricError(
    .biometricNotEnrolledDevice, "no finger is enrolled; run: fprintd-enroll")

  static func locked(_ until: Timestamp, _ now: Timestamp) -> BiometricError {
    let left = (until - now).inWords
    return BiometricError(
      .biometricLockOut, "too many wrong fingers: the reader is locked for another \(left)")
  }
}

extension Problem {
  /// The problem that explains why the user is asked for the passcode instead of a finger.
  init(_ error: BiometricError) {
    self.init(
      reason: "biometric_failed", title: error.errorCode.title, message: error.message,
      provider: error.errorCode.providerErrorCode)
  }

  /// The problem that a finger was not read and must be scanned again.
  ///
  /// - Parameter sentence: The reader's hint.
  static func scanAgain(_ sentence: String) -> Problem {
    Problem(reason: "scan_again", title: "Try again", message: sentence)
  }

  static func notRecognised(attemptsLeft: Int) -> Problem {
    Problem(
      reason: "not_recognised", title: "Not recognised",
      message: "the finger was not recognised; \(attempts(attemptsLeft)) left")
  }

  static let scanTimedOut = Problem(
    reason: "scan_timed_out", title: "No finger",
    message: "no finger touched the reader; the scan can be started again")

  static func wrongPasscode(attemptsLeft: Int) -> Problem {
    Problem(
      reason: "wrong_passcode", title: "Wrong passcode",
      message: "the passcode is wrong; \(attempts(attemptsLeft)) left")
  }

  static let passcodeLockedReason = "passcode_locked"

  static func passcodeLocked(_ until: Timestamp, _ now: Timestamp) -> Problem {
    let left = max(until - now, .zero)
    return Problem(
      reason: passcodeLockedReason, title: "Passcode locked",
      message: "too many wrong passcodes: the passcode is locked for another \(left.inWords)",
      retryAfterMs: Int(left.milliseconds))
  }

  static func passcodeUnavailable(_ sentence: String) -> Problem {
    Problem(reason: "passcode_unavailable", title: "Not checked", message: sentence)
  }

  private static func attempts(_ count: Int) -> String {
    count == 1 ? "1 attempt" : "\(count) attempts"
  }
}

extension Failure {
  /// The failure of a flow whose required local authentication failed.
  package static func localAuth(_ errorCode: LocalAuthErrorCode, _ message: String) -> Failure {
    Failure(
      reason: errorCode == .userCancel ? .cancelled : .localAuthFailed, title: errorCode.title,
      message: message, retryable: true, provider: errorCode.providerErrorCode)
  }
}

extension Duration {
  /// The duration in words for users, in whole seconds, rounded up: `30 s`, `5 min`, `4 min 59 s`,
  /// `1 h`.
  package var inWords: String {
    let seconds = max(0, (milliseconds + 999) / 1000)
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")]
    let words = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return words.isEmpty ? "0 s" : words.joined(separator: " ")
  }
}
