package import UsherSystem

/// The machine's fingerprint reader; tests provide their own.
package protocol FingerprintScanning: Sendable {
  /// Returns the names of the user's enrolled fingers, sorted; empty if there are none.
  func enrolledFingers(of user: String) async throws(FingerprintError) -> [String]

  /// Scans one finger. The reader is released on return, also if the task is cancelled.
  func verify(
    user: String, within limit: Duration, onHint: @escaping @Sendable (FingerprintHint) -> Void
  ) async throws(FingerprintError) -> FingerprintVerdict

  /// Cancels the running scan; later calls are cancelled at once.
  func close()
}

extension FingerprintReader: FingerprintScanning {}
