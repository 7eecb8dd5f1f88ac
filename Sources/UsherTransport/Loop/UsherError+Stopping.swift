package import UsherCore

extension UsherError {
  /// Error for calls that a stopping daemon refuses; the caller may retry with its successor.
  package static let stopping = UsherError(
    .shuttingDown, "usherd is stopping", detail: .init(retryAfterMs: 1000))
}
