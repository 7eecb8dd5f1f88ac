import CSystemd
package import Logging

/// Writes log entries to systemd's journal, with their metadata as searchable fields.
///
/// For example, `journalctl USHER_FLOW=flw_…` finds all entries about a flow. An entry that the
/// journal refuses is written to standard error.
package struct JournalLogHandler: LogHandler {
  /// Sends a journal entry, given as `FIELD=value` strings. Returns false if the journal refuses
  /// the entry.
  package typealias Send = @Sendable ([String]) -> Bool

  package var metadata: Logger.Metadata = [:]
  package var metadataProvider: Logger.MetadataProvider?
  package var logLevel: Logger.Level {
    get { choice.level }
    set { choice.level = newValue }
  }

  private var choice: LevelChoice
  private let label: String
  private let send: Send
  private let fallback: StderrLogHandler

  package init(
    label: String, threshold: LogThreshold,
    send: @escaping Send = JournalLogHandler.sendToJournal, fallback: StderrLogHandler? = nil
  ) {
    self.label = label
    choice = LevelChoice(threshold)
    self.send = send
    self.fallback = fallback ?? StderrLogHandler(label: label, threshold: threshold)
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    let entry = LogEntry(
      event: event, label: label, metadata: metadata, provider: metadataProvider)
    if !send(JournalFields.fields(of: entry)) { fallback.write(entry) }
  }

  /// Sends a journal entry with sd_journal_sendv(3). Values may contain any bytes, including
  /// newlines.
  package static func sendToJournal(_ fields: [String]) -> Bool {
    usher_journal_send(fields.flatMap(\.utf8), fields.map(\.utf8.count), fields.count) == 0
  }
}
