import UsherFlows
import UsherSystem

/// The reason why a finger cannot be scanned, before or during a scan.
enum ReaderObstacle: Error, Equatable {
  case noReader
  case notEnrolled
  /// The reader cannot be used. Carries the reason as a sentence for the user.
  case unavailable(String)
  /// No finger touched the reader within ``LocalAuthService/scanLimit``.
  case timedOut

  /// Converts the reader's error. Returns nil if the task was cancelled: no reason is needed then.
  init?(_ failure: FingerprintError) {
    switch failure {
    case .noReader: self = .noReader
    case .notEnrolled: self = .notEnrolled
    case .inUse: self = .unavailable("the fingerprint reader is in use")
    case .unplugged: self = .unavailable("the fingerprint reader was unplugged")
    case .notPermitted:
      self = .unavailable("usherd is not permitted to use the fingerprint reader: see polkit")
    case .unavailable: self = .unavailable("the fingerprint reader does not answer")
    case .timedOut: self = .timedOut
    case .cancelled: return nil
    }
  }
}
