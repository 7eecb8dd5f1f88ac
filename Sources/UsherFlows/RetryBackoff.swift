import UsherAPI
package import UsherCore

/// Counts the failed attempts of a call and computes the pause before the next one.
///
/// The pauses are 1, 2, 4, 8 and 16 seconds; then there is no further attempt.
package struct RetryBackoff: Codable, Sendable, Equatable {
  private var failures = 0
  /// Whether the pause before the next attempt is running; false while an attempt is in progress.
  package private(set) var isPaused = false

  package init() {}

  package static let limit = 5

  /// Records a failed attempt.
  ///
  /// - Returns: The pause before the next attempt; nil if there is no further attempt.
  package mutating func failed() -> Duration? {
    guard failures < Self.limit else { return nil }
    isPaused = true
    failures += 1
    return .seconds(1 << (failures - 1))
  }

  /// The upper bound for a pause that a provider requests. With a longer pause, the user would
  /// still wait when the provider has already recovered.
  package static let maxRequestedPause = Duration.seconds(120)

  /// Returns the pause before the next attempt: `own`, or `requested` if that is longer, of which
  /// at most ``maxRequestedPause`` counts.
  ///
  /// - Parameters:
  ///   - own: The minimum.
  ///   - requested: The value of the provider's `Retry-After` (RFC 9110 §10.2.3).
  package static func pause(_ own: Duration, requested: Duration?) -> Duration {
    max(own, min(requested ?? own, maxRequestedPause))
  }

  /// Ends the pause, because it is over or the daemon was restarted. The next attempt starts now.
  package mutating func endPause() { isPaused = false }

  /// The same count at the start of the next attempt: without the pause.
  var resumed: RetryBackoff { copy(self) { $0.endPause() } }
}

// Events of a state that makes one call, which is safe to repeat.
extension FlowEvent {
  /// Returns the outcome of the state's call; nil for any other event, and during a pause.
  func outcome(of call: Call, _ backoff: RetryBackoff) -> CallOutcome? {
    guard !backoff.isPaused, case .provider(.called(call, let outcome)) = self else { return nil }
    return outcome
  }

  /// Whether the state makes its call again, because the pause before the next attempt is over or
  /// the daemon was restarted.
  func repeatsCall(_ backoff: RetryBackoff) -> Bool {
    switch self {
    case .woken: backoff.isPaused
    case .daemon(.resumed): true
    case .input, .browser, .provider, .daemon: false
    }
  }
}

/// A machine, or a part of one, that repeats a call after a temporary failure.
protocol RetryingMachine {
  /// Why the last attempt failed, for the user.
  var problem: Problem? { get set }
}

extension RetryingMachine {
  /// Returns the view of a state in which no input is expected.
  func waiting(_ state: String, for what: String) -> FlowView {
    FlowView(state: state, step: .wait(.init(for: what)), problem: problem)
  }

  /// Waits before the next attempt; fails if there is no further attempt.
  ///
  /// - Parameters:
  ///   - failure: Why the last attempt failed. It is shown as a problem during the pause.
  ///   - requested: The value of the provider's `Retry-After`.
  ///   - save: Stores the back-off in the machine's state.
  mutating func retry<Call, Value>(
    _ backoff: RetryBackoff, _ failure: Failure, after requested: Duration? = nil,
    _ save: (inout Self, RetryBackoff) -> Void
  ) -> FlowAnswer<Call, Value> {
    pause(backoff, failure, after: requested, save).map { .proceed([.wake(after: $0)]) }
      ?? .fail(failure)
  }

  /// Starts the pause before the next attempt and returns its duration. If there is no further
  /// attempt, returns nil and changes nothing.
  mutating func pause(
    _ backoff: RetryBackoff, _ failure: Failure, after requested: Duration? = nil,
    _ save: (inout Self, RetryBackoff) -> Void
  ) -> Duration? {
    var backoff = backoff
    guard let pause = backoff.failed() else { return nil }
    save(&self, backoff)
    problem = .unreachable(failure.message, failure.provider)
    return RetryBackoff.pause(pause, requested: requested)
  }
}

/// A secret that exists only in the memory of this process and is never stored, such as an
/// authorization code between two attempts to redeem it.
///
/// The secret encodes as `null` and decodes as nil.
package struct Transient: Codable, Sendable, Equatable {
  package let secret: Secret?

  package init(_ secret: Secret?) { self.secret = secret }

  package init(from decoder: any Decoder) throws { secret = nil }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encodeNil()
  }
}
