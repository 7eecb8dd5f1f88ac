import Logging
import UsherSystem

/// Message IDs (`MESSAGE_ID`) of journal entries, by which they can be found (Service.md, "In the
/// journal"). An ID is never changed or reused.
enum JournalMessage: String {
  case flowBegins = "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c21"
  case flowMoves = "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c22"
  case flowEnds = "5d2a1c7e3f0b4e6d9a8c7b6f5e4d3c23"

  /// The ID as the metadata of a journal entry.
  var metadata: Logger.Metadata { [LogEntry.messageIDKey: .string(rawValue)] }
}
