import Logging

/// A swift-log event with its merged metadata, sorted by key.
///
/// Metadata of the event overrides that of the logger, which overrides that of the metadata
/// provider.
package struct LogEntry {
  /// The metadata key whose value becomes the journal's `MESSAGE_ID`, by which `journalctl` finds
  /// all messages of one kind.
  package static let messageIDKey = "messageID"

  var event: LogEvent
  var label: String
  var metadata: [(key: String, value: String)]

  init(
    event: LogEvent, label: String, metadata own: Logger.Metadata,
    provider: Logger.MetadataProvider?
  ) {
    self.event = event
    self.label = label
    var merged = provider?.get() ?? [:]
    merged.merge(own) { $1 }
    merged.merge(event.metadata ?? [:]) { $1 }
    var texts = merged.mapValues { "\($0)" }
    if let error = event.error { texts["error"] = "\(error)" }
    metadata = texts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

extension Logger.Level {
  /// The syslog(3) priority that the journal stores for this level.
  var priority: Int {
    switch self {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }
}
