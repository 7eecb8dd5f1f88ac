package import UsherCore

/// How often something was tried in vain, and when it is tried again.
///
/// The pauses are 1, 2, 4, 8 and 16 seconds; then it is given up.
package struct RetryBackoff: Codable, Sendable, Equatable {
  private var failures = 0
  /// Between two tries; otherwise the outcome of one is awaited.
  package private(set) var isPaused = false

  package init() {}

  package static let limit = 5

  /// - Returns: The pause before the next try; nil when there shall be none.
  package mutating func failed() -> Duration? {
    guard failures < Self.limit else { return nil }
    isPaused = true
    failures += 1
    return .seconds(1 << (failures - 1))
  }

  /// The longest pause that a provider can ask for: beyond it a person waits in vain though the
  /// provider is well again.
  package static let longestAsked = Duration.seconds(120)

  /// - Parameters:
  ///   - own: The least.
  ///   - asked: What the provider's `Retry-After` says (RFC 9110 §10.2.3).
  package static func pause(_ own: Duration, asked: Duration?) -> Duration {
    max(own, min(asked ?? own, longestAsked))
  }

  /// The pause is over, or a restart cut it short: it is tried again now.
  package mutating func goOn() { isPaused = false }
}

/// A value that lives as long as the process and is never written: an authorization code between two
/// tries to redeem it.
///
/// It encodes to `null` and decodes to nothing.
package struct Transient: Codable, Sendable, Equatable {
  package let secret: Secret?

  package init(_ secret: Secret?) { self.secret = secret }

  package init(from decoder: any Decoder) throws { secret = nil }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encodeNil()
  }
}
