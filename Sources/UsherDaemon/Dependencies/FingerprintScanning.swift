package import UsherSystem

/// The machine's fingerprint reader, which tests replace.
package protocol FingerprintScanning: Sendable {
  /// Returns the sorted names of the user's enrolled fingers; empty if there are none.
  func enrolledFingers(of user: String) async throws(FingerprintError) -> [String]

  /// Scans one finger. The reader is released on return, even if the task is cancelled.
  func verify(
    user: String, within limit: Duration, onHint: @escaping @Sendable (FingerprintHint) -> Void
  ) async throws(FingerprintError) -> FingerprintVerdict

  /// Cancels the running scan and all later calls.
  func close()
}

extension FingerprintReader: FingerprintScanning {}
