import Glibc
import Logging
import Synchronization
import Testing
import UsherCore
import UsherTestKit

@testable import UsherSystem

private func event(
  _ level: Logger.Level = .info, _ message: Logger.Message = "signed in",
  metadata: Logger.Metadata? = nil, error: (any Error)? = nil
) -> LogEvent {
  LogEvent(
    level: level, message: message, error: error, metadata: metadata, source: nil,
    file: "UsherDaemon/FlowEngine.swift", function: "start()", line: 12)
}

@Suite("Log entries for the journal")
struct JournalEntryTests {
  private final class Journal: Sendable {
    let entries = Mutex<[[String]]>([])
    var last: [String] { entries.withLock { $0.last ?? [] } }
  }

  private let journal = Journal()
  private var handler: DaemonLogHandler {
    DaemonLogHandler(
      label: "usherd.flows", threshold: LogThreshold(.info), to: .journal,
      send: { [journal] fields in
        journal.entries.withLock { $0.append(fields) }
        return true
      })
  }

  @Test("a journal entry has message, priority, identifier, code place and logger name")
  func basics() {
    handler.log(event: event())
    #expect(
      journal.last == [
        "MESSAGE=signed in", "PRIORITY=6", "SYSLOG_IDENTIFIER=usherd",
        "CODE_FILE=UsherDaemon/FlowEngine.swift", "CODE_LINE=12", "CODE_FUNC=start()",
        "USHER_LOGGER=usherd.flows",
      ])
  }

  @Test(
    "log levels are mapped to syslog priorities",
    arguments: [
      (Logger.Level.trace, 7), (.debug, 7), (.info, 6), (.notice, 5), (.warning, 4), (.error, 3),
      (.critical, 2),
    ])
  func priorities(level: Logger.Level, priority: Int) {
    handler.log(event: event(level))
    #expect(journal.last.contains("PRIORITY=\(priority)"))
  }

  @Test(
    "metadata keys become journal fields with the prefix USHER_",
    arguments: [
      ("flow", "USHER_FLOW"), ("provider", "USHER_PROVIDER"), ("client", "USHER_CLIENT"),
      ("correlationId", "USHER_CORRELATION_ID"), ("correlationID", "USHER_CORRELATION_ID"),
      ("retryAfterMs", "USHER_RETRY_AFTER_MS"), ("IDToken", "USHER_ID_TOKEN"),
      ("http.status-code", "USHER_HTTP_STATUS_CODE"), ("sha256Sum", "USHER_SHA256_SUM"),
      ("_PID", "USHER__PID"), ("é", "USHER__"), ("A=B\nPRIORITY", "USHER_A_B_PRIORITY"),
    ])
  func names(key: String, field: String) {
    #expect(JournalFields.name(for: key) == field)
  }

  @Test("a journal field name has at most 64 bytes")
  func longName() {
    #expect(JournalFields.name(for: String(repeating: "x", count: 200)).utf8.count == 64)
  }

  @Test("a messageID of 128 hexadecimal bits becomes MESSAGE_ID; other text is a plain field")
  func messageID() {
    let id = "0123456789abcdef0123456789ABCDEF"
    handler.log(event: event(metadata: ["messageID": "\(id)"]))
    #expect(journal.last.last == "MESSAGE_ID=\(id.lowercased())")
    handler.log(event: event(metadata: ["messageID": "01234567-89ab-cdef-0123-456789abcdef"]))
    #expect(journal.last.last == "MESSAGE_ID=\(id.lowercased())")
    handler.log(event: event(metadata: ["messageID": "x\nPRIORITY=0"]))
    #expect(journal.last.last == "USHER_MESSAGE_ID=x\nPRIORITY=0")
  }

  @Test("metadata of the event overrides the logger's, which overrides the provider's")
  func merged() {
    var handler = handler
    handler.metadataProvider = .init { ["flow": "p", "provider": "p", "client": "p"] }
    handler[metadataKey: "flow"] = "l"
    handler[metadataKey: "provider"] = "l"
    handler.log(event: event(metadata: ["flow": "e"]))
    #expect(
      journal.last.suffix(3) == ["USHER_CLIENT=p", "USHER_FLOW=e", "USHER_PROVIDER=l"])
  }

  @Test("a log event's error becomes the field USHER_ERROR")
  func error() {
    struct Failure: Error, CustomStringConvertible { var description: String { "broke" } }
    handler.log(event: event(.error, error: Failure()))
    #expect(journal.last.last == "USHER_ERROR=broke")
  }

  @Test("a copied log handler changes its metadata and level without the original")
  func values() {
    let one = handler
    var two = one
    two.logLevel = .trace
    two[metadataKey: "a"] = "b"
    #expect(one.logLevel == .info)
    #expect(one[metadataKey: "a"] == nil)
  }

  @Test("all log handlers follow the shared threshold, unless one has a level of its own")
  func threshold() {
    let threshold = LogThreshold(.info)
    let one = DaemonLogHandler(label: "a", threshold: threshold, to: .journal)
    let two = DaemonLogHandler(label: "b", threshold: threshold)
    var own = one
    own.logLevel = .warning
    for level in Logger.Level.allCases {
      threshold.level = level
      #expect(one.logLevel == level && two.logLevel == level)
      #expect(Logger(label: "a") { _ in one }.logLevel == level)
    }
    #expect(own.logLevel == .warning)
  }

  @Test("a log entry that the journal refuses is written to standard error")
  func refused() throws {
    var pipes: [CInt] = [0, 0]
    try #require(pipe(&pipes) == 0)
    defer { close(pipes[0]) }
    let handler = DaemonLogHandler(
      label: "l", threshold: LogThreshold(.info), to: .journal, send: { _ in false },
      descriptor: pipes[1])
    handler.log(event: event())
    close(pipes[1])
    #expect(try text(from: pipes[0]).hasSuffix(" info signed in\n"))
  }

  @Test("the real journal call reports success on a machine without a journal")
  func real() {
    #expect(DaemonLogHandler.sendToJournal(["MESSAGE=usherd test", "PRIORITY=7"]))
  }

  private func text(from descriptor: CInt) throws -> String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &buffer, buffer.count)
    try #require(count >= 0)
    return String(decoding: buffer.prefix(count), as: UTF8.self)
  }
}

@Suite("Log lines on standard error")
struct LogLineTests {
  private func line(
    _ event: LogEvent, showsPriority: Bool = false, metadata: Logger.Metadata = [:]
  ) throws -> String {
    var pipes: [CInt] = [0, 0]
    try #require(pipe(&pipes) == 0)
    defer { close(pipes[0]) }
    var handler = DaemonLogHandler(
      label: "l", threshold: LogThreshold(.info),
      to: .standardError(showsPriority: showsPriority), descriptor: pipes[1],
      clock: FakeClock(Timestamp(milliseconds: 1_700_000_000_250)))
    handler.metadata = metadata
    handler.log(event: event)
    close(pipes[1])
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(pipes[0], &buffer, buffer.count)
    try #require(count >= 0)
    return String(decoding: buffer.prefix(count), as: UTF8.self)
  }

  @Test("a log line has time, level, message, and metadata sorted by key")
  func line() throws {
    let line = try line(event(.warning), metadata: ["provider": "work", "flow": "flw_1"])
    #expect(line == "2023-11-14T22:13:20.250Z warning signed in flow=flw_1 provider=work\n")
  }

  @Test("a metadata value with control characters cannot forge a log line or steer a terminal")
  func forged() throws {
    let line = try line(
      event(metadata: ["title": "\u{1b}[31mno\n2023-11-14T22:13:20Z info ok flow=flw_2"]))
    #expect(
      line == "2023-11-14T22:13:20.250Z info signed in "
        + #"title="\u{1b}[31mno\n2023-11-14T22:13:20Z info ok flow=flw_2""# + "\n")
  }

  @Test("a log message with control characters stays on one line")
  func forgedMessage() throws {
    let line = try line(event(.info, "a\r\nb\u{7}"))
    #expect(line == "2023-11-14T22:13:20.250Z info a\\r\\nb\\u{7}\n")
  }

  @Test("a log line has a priority prefix only if the stream leads to the journal")
  func priority() throws {
    #expect(try line(event(.error), showsPriority: true).hasPrefix("<3>2023-"))
    #expect(try line(event(.error)).hasPrefix("2023-"))
  }
}

@Suite("Choice of the log destination")
final class LogDestinationTests {
  private let directory: TemporaryDirectory
  private let file: CInt
  private let journal: CInt

  init() throws {
    directory = try TemporaryDirectory()
    file = open(directory.file("stderr"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    journal = try boundSocket(directory.file("journal"), type: SOCK_DGRAM)
  }

  deinit {
    close(file)
    close(journal)
  }

  private func destination(stream: String?, socket: String = "journal") -> LogDestination {
    LogDestination.choose(
      environment: stream.map { ["JOURNAL_STREAM": $0] } ?? [:], descriptor: file,
      journalSocket: directory.file(socket))
  }

  @Test(
    "log entries go to the journal if stderr is its stream and its socket exists, else to stderr")
  func journalStream() throws {
    var status = stat()
    try #require(fstat(file, &status) == 0)
    let stream = "\(status.st_dev):\(status.st_ino)"
    #expect(destination(stream: stream) == .journal)
    let deaf = destination(stream: stream, socket: "nothing")
    #expect(deaf == .standardError(showsPriority: true))
  }

  @Test(
    "log entries go to standard error if JOURNAL_STREAM does not name it",
    arguments: [nil, "", "1:2", "x", "1", "8:1:2"])
  func elsewhere(stream: String?) {
    #expect(destination(stream: stream) == .standardError(showsPriority: false))
  }
}
