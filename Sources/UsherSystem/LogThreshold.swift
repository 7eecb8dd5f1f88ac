package import Logging
import Synchronization

/// The lowest level that is written. A change applies at once to every logger that uses it.
package final class LogThreshold: Sendable {
  private static let levels = Logger.Level.allCases

  /// The index into ``levels``.
  private let place: Atomic<Int>

  package init(_ level: Logger.Level) { place = Atomic(Self.place(of: level)) }

  package var level: Logger.Level {
    get { Self.levels[place.load(ordering: .relaxed)] }
    set { place.store(Self.place(of: newValue), ordering: .relaxed) }
  }

  private static func place(of level: Logger.Level) -> Int { levels.firstIndex(of: level) ?? 0 }
}

/// A logger's level: its own if one was set, else the threshold's.
struct LevelChoice: Sendable {
  let threshold: LogThreshold
  private var own: Logger.Level?

  init(_ threshold: LogThreshold) { self.threshold = threshold }

  var level: Logger.Level {
    get { own ?? threshold.level }
    set { own = newValue }
  }
}
