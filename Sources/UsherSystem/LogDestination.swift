import FoundationEssentials
import Glibc
import Logging

/// Where log entries go.
package enum LogDestination: Sendable, Equatable {
  case journal
  /// `showsPriority`: the stream ends in the journal, which reads a `<6>` before a line.
  case standardError(showsPriority: Bool)

  /// The journal where standard error is connected to it and it takes entries, else standard error.
  ///
  /// A daemon started by hand logs where its starter looks, also on a machine with a journal.
  ///
  /// - Parameters:
  ///   - environment: `$JOURNAL_STREAM` is `device:inode` of the stream systemd connected.
  ///   - descriptor: What is compared with it: standard error may have been redirected since.
  ///   - journalSocket: Where entries with fields are sent.
  package static func choose(
    environment: [String: String], descriptor: CInt = STDERR_FILENO,
    journalSocket: String = "/run/systemd/journal/socket"
  ) -> LogDestination {
    guard isJournalStream(environment["JOURNAL_STREAM"], descriptor) else {
      return .standardError(showsPriority: false)
    }
    return isTaking(journalSocket) ? .journal : .standardError(showsPriority: true)
  }

  private static func isJournalStream(_ variable: String?, _ descriptor: CInt) -> Bool {
    var status = stat()
    guard let variable, fstat(descriptor, &status) == 0 else { return false }
    return variable == "\(status.st_dev):\(status.st_ino)"
  }

  private static func isTaking(_ socket: String) -> Bool {
    guard let address = try? UnixAddress(path: socket),
      let probe = try? Descriptor.socket(AF_UNIX, SOCK_DGRAM)
    else { return false }
    return (try? address.connect(probe)) != nil
  }
}

/// Makes every `Logger` write where ``LogDestination`` says, what the threshold lets through. Once a process, before the first
/// logger.
package func bootstrapLogging(_ threshold: LogThreshold) {
  let destination = LogDestination.choose(environment: ProcessInfo.processInfo.environment)
  LoggingSystem.bootstrap(
    { label, provider in
      var handler: any LogHandler =
        switch destination {
        case .journal:
          JournalLogHandler(label: label, threshold: threshold)
        case .standardError(let showsPriority):
          StderrLogHandler(label: label, threshold: threshold, showsPriority: showsPriority)
        }
      handler.metadataProvider = provider
      return handler
    }, metadataProvider: nil)
}
