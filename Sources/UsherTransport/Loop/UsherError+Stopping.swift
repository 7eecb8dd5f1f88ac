package import UsherCore

extension UsherError {
  /// Error for calls that a stopping daemon refuses. The caller may retry when the next daemon
  /// process runs.
  package static let stopping = UsherError(
    .shuttingDown, "usherd is stopping", detail: .init(retryAfterMs: 1000))
}
