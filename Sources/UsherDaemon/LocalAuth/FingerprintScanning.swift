import UsherFlows
package import UsherSystem

/// The machine's fingerprint reader, as the desk needs it; a test brings its own.
package protocol FingerprintScanning: Sendable {
  /// The names of the user's enrolled fingers, sorted; empty where there are none.
  func enrolledFingers(of user: String) async throws(FingerprintError) -> [String]

  /// Looks at one finger. The reader is free again on return, also where the task is cancelled.
  func verify(
    user: String, within limit: Duration, onHint: @escaping @Sendable (FingerprintHint) -> Void
  ) async throws(FingerprintError) -> FingerprintVerdict

  /// Cancels what is running; from now on every call is cancelled.
  func close()
}

extension FingerprintReader: FingerprintScanning {}

extension FingerprintHint {
  /// What the person is told.
  var sentence: String {
    switch self {
    case .retryScan: "the reader could not see the finger well: touch it again"
    case .swipeTooShort: "that was too short: swipe again"
    case .fingerNotCentered: "the finger was not in the middle: touch again"
    case .removeAndRetry: "take the finger away, then touch again"
    }
  }
}

/// Why a finger cannot be looked at, without a scan or in one.
enum ReaderObstacle: Error, Equatable {
  case noReader
  case notEnrolled
  /// A sentence for people.
  case unavailable(String)
  /// Nobody touched the reader.
  case timedOut

  /// Nil where the task was cancelled: then nobody wants to know.
  init?(_ failure: FingerprintError) {
    switch failure {
    case .noReader: self = .noReader
    case .notEnrolled: self = .notEnrolled
    case .inUse: self = .unavailable("the fingerprint reader is in use")
    case .unplugged: self = .unavailable("the fingerprint reader went away")
    case .notPermitted:
      self = .unavailable("usherd is not permitted to use the fingerprint reader: see polkit")
    case .unavailable: self = .unavailable("the fingerprint reader does not answer")
    case .timedOut: self = .timedOut
    case .cancelled: return nil
    }
  }
}
