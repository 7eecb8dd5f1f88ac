import Glibc
package import Logging
package import UsherCore

/// Writes one line per log entry to standard error: `time level message key=value …`.
///
/// Text from providers and callers is escaped by ``Printable``, so it cannot start a new line,
/// imitate another value or send commands to a terminal.
package struct StderrLogHandler: LogHandler {
  package var metadata: Logger.Metadata = [:]
  package var metadataProvider: Logger.MetadataProvider?
  package var logLevel: Logger.Level {
    get { choice.level }
    set { choice.level = newValue }
  }

  private var choice: LevelChoice
  private let label: String
  private let showsPriority: Bool
  private let descriptor: CInt
  private let clock: any Clock

  /// - Parameters:
  ///   - showsPriority: Whether to begin each line with a syslog priority such as `<6>`, which the
  ///     journal interprets and removes.
  ///   - descriptor: The destination. The caller keeps ownership.
  package init(
    label: String, threshold: LogThreshold, showsPriority: Bool = false,
    descriptor: CInt = STDERR_FILENO, clock: any Clock = SystemClock()
  ) {
    self.label = label
    choice = LevelChoice(threshold)
    self.showsPriority = showsPriority
    self.descriptor = descriptor
    self.clock = clock
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    write(
      LogEntry(event: event, label: label, metadata: metadata, provider: metadataProvider))
  }

  /// Writes the line with one write(2) if possible, so that lines of several threads do not mix.
  func write(_ entry: LogEntry) {
    var rest = Array(line(of: entry).utf8)[...]
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
    let prefix = showsPriority ? "<\(entry.event.level.priority)>" : ""
    let message = Printable.line(entry.event.message.description)
    var line = "\(prefix)\(clock.now()) \(entry.event.level) \(message)"
    for (key, value) in entry.metadata where key != LogEntry.messageIDKey {
      line += " \(Printable.value(key))=\(Printable.value(value))"
    }
    return line + "\n"
  }
}
