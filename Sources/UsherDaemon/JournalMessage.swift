import Logging
import UsherSystem

/// What entries of the journal are looked for by (Service, "In the journal"): a number given out is
/// not changed, nor given to another.
enum JournalMessage: String {
  case flowBegins = "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c21"
  case flowMoves = "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c22"
  case flowEnds = "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c23"

  /// The same, as an entry's metadata.
  var metadata: Logger.Metadata { [LogEntry.messageIDKey: .string(rawValue)] }
}
