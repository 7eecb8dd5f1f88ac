import JSONRPC
import Logging
import NIOCore
import UsherAPI
import UsherConfig
import UsherCore

/// One connection: bytes in, calls run, bytes out. Everything here runs on its event loop.
///
/// Cheap calls are answered where they are read; only a call that waits gets a task. Reading stops
/// while the other side does not read its replies, so nobody can make the daemon keep them, and while
/// its user has had its share of the loop (``FairScheduler``).
final class ConnectionHandler: TransportUser {
  /// Who calls, under the rules that were in force when the last call began.
  var caller: Caller
  let standing: CallerCache
  let service: RPCService
  /// Those with which it began.
  let limits: Limits
  let turns: ConnectionScheduler
  let transport: Transport
  /// Whose share of the loop it takes.
  let party: FairScheduler.Party
  private let onClose: (ConnectionHandler) -> Void
  let scanner: Scanner
  /// Read but not yet looked at, while replies are unread, a call waits for the disk or others have
  /// their turn.
  var backlog = ByteQueue()
  var lineTimer: LoopTimer?
  var unreadTimer: LoopTimer?
  /// Of the very end.
  var closeTimer: LoopTimer?

  // What every call touches. Nothing that these are lent to calls back here, so two never touch one
  // at once, and the runtime does not have to watch that: it would cost more than the rest of ours.
  /// Of the rules that ``caller`` is under.
  @exclusivity(unchecked) var generation: Int
  @exclusivity(unchecked) var splitter: LineSplitter
  @exclusivity(unchecked) var slice = Slice.endless
  @exclusivity(unchecked) var answers = ReplyCache()
  /// When what is read just now was first answered from them.
  @exclusivity(unchecked) var moment: Timestamp?
  /// Replies that are written and not sent.
  @exclusivity(unchecked) var replies: [UInt8] = []

  /// Whether a line of JSON has come. What does not speak JSON is not listened to: a service that can
  /// be made to send a request of its own to this socket must not reach a call in the body.
  private var hasHeardJSON = false
  var isClosing = false
  var connectionID: FairScheduler.ConnectionID = 0
  /// Whether its share lets it hear more.
  var listens = true { didSet { if listens != oldValue { adjustReading() } } }
  /// Whether they go out when all is read that is ready now.
  var isPutOff = false
  /// Bytes of them that are sent at the latest.
  let mostGathered: Int
  var ending = Ending.open
  /// Since the time for answers is over: what is left is refused, whoever's turn it is.
  var isRefusing = false
  /// How long written replies are waited for at the end; of a daemon that stops, what it says then.
  var lastReplySeconds: Int
  /// Since a lock, until the calls that were in flight then are answered: replies that are not read
  /// at once are not kept.
  var keepsNothing = false

  var inFlight: [RequestID: Flight] = [:]
  /// Calls without an id that wait: nobody hears of them, and they end with the connection.
  var silent: [Int: Task<Void, Never>] = [:]
  var callsInFlight = 0
  var batches: [Int: BatchCollector] = [:]
  /// Bytes of the replies that wait in ``batches`` for others of their batch.
  var batchedBytes = 0
  var nextNumber = 0
  let feed = EventFeed()
  /// Calls that wait for the disk, one after the other.
  var cold: [ColdCall] = [] {
    didSet { if cold.isEmpty != oldValue.isEmpty { adjustReading() } }
  }
  /// Reads what the first of them is about.
  var reading: Task<Void, Never>?
  /// The long line that is read beside the event loop.
  var readingLine: ReadingLine? {
    didSet { if (readingLine == nil) != (oldValue == nil) { adjustReading() } }
  }

  /// The batch of which not all calls have been made.
  var unfinished: UnfinishedBatch? {
    didSet { if (unfinished == nil) != (oldValue == nil) { adjustReading() } }
  }

  /// A call that waits.
  struct Flight {
    let number: Int
    let origin: Origin
    let task: Task<Void, Never>
  }

  /// A call about something that is on the disk.
  struct ColdCall {
    let number: Int
    let id: RequestID?
    let origin: Origin
    let read: @Sendable () async throws(UsherError) -> Response
  }

  /// What is still to be done before the connection is closed.
  enum Ending {
    case open
    /// The other side has said all it will: its calls are answered, its subscriptions go on.
    case heardAll
    /// The daemon stops: what was sent before is read, to its end.
    case draining
    /// The daemon stops, and all has been heard: it is answered.
    case answering
  }

  /// Where a call's reply goes.
  enum Origin {
    case line
    case batch(Int, Int)
  }

  /// - Parameter onClose: Told once, at the end.
  init(
    caller: CallerCache, service: RPCService, turns: ConnectionScheduler,
    through transport: Transport,
    party: FairScheduler.Party, onClose: @escaping (ConnectionHandler) -> Void = { _ in }
  ) {
    generation = service.configStore.generation
    standing = caller
    self.caller = caller.caller
    self.service = service
    self.turns = turns
    self.transport = transport
    self.party = party
    self.onClose = onClose
    limits = service.limits.allowed(for: self.caller)
    lastReplySeconds = limits.unreadReplySeconds
    let json = JSONLimits(
      lineBytes: limits.maxLineBytes, nesting: limits.nesting, batch: limits.batch)
    mostGathered = min(65_536, limits.unreadReplyBytes / 2)
    scanner = Scanner(limits: json)
    splitter = LineSplitter(maxLineBytes: limits.maxLineBytes)
  }

  /// Watches the connection.
  ///
  /// - Parameter begun: When it was accepted.
  /// - Throws: `internalError` where the kernel cannot watch it; it is closed then.
  func begin(since begun: NIODeadline) throws(UsherError) {
    turns.enter(self, since: begun)
    try transport.begin(for: self)
  }

  override func closed() {
    isClosing = true
    lineTimer?.cancel()
    unreadTimer?.cancel()
    closeTimer?.cancel()
    for task in inFlight.values.map(\.task) + silent.values { task.cancel() }
    endSubscriptions()
    inFlight = [:]
    silent = [:]
    batches = [:]
    batchedBytes = 0
    dropCold()
    dropLongLine()
    unfinished = nil
    answers.forget()
    replies = []
    backlog.removeAll()
    turns.leave(self)
    onClose(self)
  }

  override func heardAll() { hearNoMore() }

  override func roomChanged() { adjustToRoom() }

  override func received(_ bytes: UnsafeRawBufferPointer) {
    guard !isClosing else { return }
    if !backlog.isEmpty {
      backlog.append(bytes)
    } else if mayWork {
      work {
        let used = answerLines(in: bytes)
        if used < bytes.count, !isClosing {
          backlog.append(UnsafeRawBufferPointer(rebasing: bytes[used...]))
        }
      }
    } else {
      backlog.append(bytes)
      listens = false
    }
    if !replies.isEmpty { turns.coalescer.send(of: self) }
  }

  /// Goes on with what it has read: its turn has come.
  func takeTurn() {
    guard !isClosing, isFree, hasWork else {
      // It comes back when its replies are read, or an account is.
      listens = true
      return
    }
    work {
      goOnWithBatch()
      var bytes = ByteQueue()
      swap(&bytes, &backlog)
      bytes.removeFirst(bytes.withUnsafeBytes { answerLines(in: $0) })
      if isClosing { bytes.removeAll() } else { swap(&bytes, &backlog) }
    }
    if keepsNothing { dropUnread() }
    flush()
    closeWhenDone()
  }

  /// Goes on after its replies were read, or an account was.
  func comeBack() {
    guard !isClosing, hasWork else { return }
    if mayWork { takeTurn() } else { listens = false }
  }

  private var mayWork: Bool { isRefusing || turns.mayWork(self) }

  /// Works for a slice, and leaves the rest in the backlog.
  private func work(_ answer: () -> Void) {
    slice = isRefusing ? .endless : turns.slice(for: self)
    let ended = splitter.endedLines
    answer()
    if !isClosing { watchLine(hasNewLine: splitter.endedLines != ended) }
    guard !isRefusing else { return }
    // What is measured is the whole of it, where somebody pays for it.
    if slice.start != nil, turns.isShared { flush() }
    let rest: FairScheduler.Rest =
      !hasWork || isClosing ? .nothing : isFree ? .bytes : .blocked
    listens = turns.worked(self, slice, leaving: rest)
  }

  private var goesOn: Bool { !isClosing && !slice.isOver && isFree && unfinished == nil }

  /// Whether it has heard what it has not worked on.
  private var hasWork: Bool { unfinished != nil || !backlog.isEmpty }

  /// Whether the next call may be answered: the other side reads its replies, no call waits for the
  /// disk, and no long line is being read.
  var isFree: Bool { transport.hasRoom && cold.isEmpty && readingLine == nil }

  /// Whether a call waits.
  var isAwaited: Bool {
    !inFlight.isEmpty || !cold.isEmpty || readingLine != nil || unfinished != nil
  }

  /// Answers lines where they lie.
  ///
  /// - Returns: How many bytes were taken. Whoever has them wipes them: they may have been a secret.
  private func answerLines(in bytes: UnsafeRawBufferPointer) -> Int {
    var used = 0
    moment = nil
    while used < bytes.count, goesOn {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
      let (piece, length) = splitter.next(rest)
      used += length
      slice.spend(length)
      switch piece {
      case .line(let range): answer(UnsafeRawBufferPointer(rebasing: rest[range]))
      case .gathered(let line): answer(line)
      case .tooLong: refuseTooLong()
      case .nothing: if batchedBytes > 0 { boundLine() }
      }
    }
    return used
  }

  private func refuseTooLong() {
    refuse(
      .null,
      UsherError(
        .messageTooLarge, "a line may have \(limits.maxLineBytes) bytes",
        detail: .init(limit: "max_line_bytes")))
    // The line was not parsed, so the connection has not shown that it speaks JSON.
    if !hasHeardJSON { close() }
  }

  private func answer(_ line: [UInt8]) {
    if isLong(line.count) { return read(LongLine(line)) }
    line.withUnsafeBytes { answer($0) }
  }

  private func answer(_ line: UnsafeRawBufferPointer) {
    if answerAgain(line) { return }
    if isLong(line.count) { return read(LongLine(line)) }
    answer(line, scanner.scan(line))
  }

  private func isLong(_ bytes: Int) -> Bool { bytes > LongLine.longestOnLoop && !isRefusing }

  /// - Parameters:
  ///   - decoded: Its calls in their order, where their parameters have been decoded.
  ///   - kept: The line, where it is kept already.
  func answer(
    _ line: UnsafeRawBufferPointer, _ scanned: Scanned, _ decoded: [DecodedCall] = [],
    kept: LongLine? = nil
  ) {
    switch scanned {
    case .call(let envelope):
      hasHeardJSON = true
      run(envelope, line, .line, decoded.first)
    case .batch(let elements):
      hasHeardJSON = true
      run(elements, line, decoded, kept: kept)
    case .refused(let refusal):
      let error = UsherError(refusal)
      hasHeardJSON = hasHeardJSON || error.reason != .parseError
      refuse(refusal.id(in: line), error)
      if !hasHeardJSON { close() }
    case .looksLikeHTTP:
      let sentence = "this is JSON-RPC over a Unix socket, not HTTP"
      refuse(.null, UsherError(hasHeardJSON ? .parseError : .invalidRequest, sentence))
      if !hasHeardJSON { close() }
    }
  }
}
