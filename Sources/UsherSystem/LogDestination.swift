import FoundationEssentials
import Glibc
import Logging

/// The destination of log entries: the journal or standard error.
package enum LogDestination: Sendable, Equatable {
  case journal
  /// Standard error. `showsPriority` is true if the stream leads to the journal, which interprets
  /// and removes a syslog priority such as `<6>` at the start of a line.
  case standardError(showsPriority: Bool)

  /// Returns the journal if standard error is connected to it and its socket accepts entries;
  /// otherwise standard error.
  ///
  /// A daemon that was started from a shell therefore logs to that shell, even on a machine with a
  /// journal.
  ///
  /// - Parameters:
  ///   - environment: Contains `JOURNAL_STREAM`, the `device:inode` of the stream that systemd
  ///     connected to the journal.
  ///   - descriptor: The descriptor that is compared with that stream, because standard error may
  ///     have been redirected since.
  ///   - journalSocket: The path of the socket that accepts entries with fields.
  package static func choose(
    environment: [String: String], descriptor: CInt = STDERR_FILENO,
    journalSocket: String = "/run/systemd/journal/socket"
  ) -> LogDestination {
    guard isJournalStream(environment["JOURNAL_STREAM"], descriptor) else {
      return .standardError(showsPriority: false)
    }
    return accepts(journalSocket) ? .journal : .standardError(showsPriority: true)
  }

  private static func isJournalStream(_ variable: String?, _ descriptor: CInt) -> Bool {
    var status = stat()
    guard let variable, fstat(descriptor, &status) == 0 else { return false }
    return variable == "\(status.st_dev):\(status.st_ino)"
  }

  private static func accepts(_ socket: String) -> Bool {
    guard let address = try? UnixAddress(path: socket),
      let probe = try? Descriptor.socket(AF_UNIX, SOCK_DGRAM)
    else { return false }
    return (try? address.connect(probe)) != nil
  }
}

/// Makes every swift-log `Logger` of the process write its entries from the threshold level up to
/// the destination that ``LogDestination`` chose.
///
/// Must be called once per process, before the first logger is created.
package func bootstrapLogging(_ threshold: LogThreshold) {
  let destination = LogDestination.choose(environment: ProcessInfo.processInfo.environment)
  LoggingSystem.bootstrap(
    { label, provider in
      var handler = DaemonLogHandler(label: label, threshold: threshold, to: destination)
      handler.metadataProvider = provider
      return handler
    }, metadataProvider: nil)
}
