import CSystemd
import Glibc
package import Logging
package import UsherCore

/// Writes log entries to systemd's journal or to standard error, as ``LogDestination`` says.
///
/// In the journal, metadata are searchable fields: `journalctl USHER_FLOW=flw_…` finds all entries
/// about a flow. On standard error, each entry is one line: `time level message key=value …`. Text
/// from providers and callers is escaped there by ``Printable``, so it cannot start a new line,
/// imitate another value or send commands to a terminal.
package struct DaemonLogHandler: LogHandler {
  /// Sends a journal entry, given as `FIELD=value` strings. Returns false if the journal refuses
  /// the entry.
  package typealias Send = @Sendable ([String]) -> Bool

  package var metadata: Logger.Metadata = [:]
  package var metadataProvider: Logger.MetadataProvider?
  /// The level of this logger if one was set, otherwise that of the shared threshold.
  package var logLevel: Logger.Level {
    get { ownLevel ?? threshold.level }
    set { ownLevel = newValue }
  }

  private var ownLevel: Logger.Level?
  private let threshold: LogThreshold
  private let label: String
  private let destination: LogDestination
  private let send: Send
  private let descriptor: CInt
  private let clock: any Clock

  /// - Parameters:
  ///   - send: Sends an entry to the journal. An entry that the journal refuses is written to
  ///     `descriptor`.
  ///   - descriptor: Standard error. The caller keeps ownership.
  package init(
    label: String, threshold: LogThreshold,
    to destination: LogDestination = .standardError(showsPriority: false),
    send: @escaping Send = DaemonLogHandler.sendToJournal, descriptor: CInt = STDERR_FILENO,
    clock: any Clock = SystemClock()
  ) {
    self.label = label
    self.threshold = threshold
    self.destination = destination
    self.send = send
    self.descriptor = descriptor
    self.clock = clock
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    let entry = LogEntry(
      event: event, label: label, metadata: metadata, provider: metadataProvider)
    if destination == .journal, send(JournalFields.fields(of: entry)) { return }
    write(line(of: entry))
  }

  /// Writes the line with one write(2) if possible, so that lines of several threads do not mix.
  private func write(_ line: String) {
    var rest = Array(line.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        return  // The destination is gone, so the entry is lost.
      }
    }
  }

  private func line(of entry: LogEntry) -> String {
    let showsPriority = destination == .standardError(showsPriority: true)
    let prefix = showsPriority ? "<\(entry.event.level.priority)>" : ""
    let message = Printable.line(entry.event.message.description)
    var line = "\(prefix)\(clock.now()) \(entry.event.level) \(message)"
    for (key, value) in entry.metadata where key != LogEntry.messageIDKey {
      line += " \(Printable.value(key))=\(Printable.value(value))"
    }
    return line + "\n"
  }

  /// Sends a journal entry with sd_journal_sendv(3). Values may contain any bytes, including
  /// newlines.
  package static func sendToJournal(_ fields: [String]) -> Bool {
    usher_journal_send(fields.flatMap(\.utf8), fields.map(\.utf8.count), fields.count) == 0
  }
}
