package import Logging
import Synchronization

/// The lowest log level that is written. A change, for example by a reload of the configuration,
/// applies at once to every logger that uses this threshold.
package final class LogThreshold: Sendable {
  private static let levels = Logger.Level.allCases

  /// The index of the current level in ``levels``.
  private let place: Atomic<Int>

  package init(_ level: Logger.Level) { place = Atomic(Self.place(of: level)) }

  package var level: Logger.Level {
    get { Self.levels[place.load(ordering: .relaxed)] }
    set { place.store(Self.place(of: newValue), ordering: .relaxed) }
  }

  private static func place(of level: Logger.Level) -> Int { levels.firstIndex(of: level) ?? 0 }
}
