import JSONRPC
import Logging
import NIOCore
import UsherAPI
import UsherConfig
import UsherCore
import UsherTransport

/// The connection of one client: splits the input into lines, runs the calls, writes the replies.
/// Used on its event loop only.
///
/// A cheap call is answered where its line is read; only a call that waits gets a task. The
/// connection stops reading while the peer does not read its replies, which bounds memory, and
/// while its user has used up its share of the event loop (``FairScheduler``).
final class ConnectionHandler: TransportUser, ScheduledConnection, OpenConnection {
  /// The caller, with the policy rules that applied when the last call began.
  var caller: Caller
  let callerCache: CallerCache
  let service: RPCService
  /// The limits that applied when the connection began.
  let limits: Limits
  let scheduler: ConnectionScheduler
  let transport: Transport
  /// The user, or group of callers, whose share of the event loop's time the connection uses.
  let party: FairScheduler.Party
  private let onClose: (ConnectionHandler) -> Void
  let scanner: Scanner
  var lineTimer: LoopTimer?
  var unreadTimer: LoopTimer?
  /// The timer that closes the connection even if replies are not sent.
  var closeTimer: LoopTimer?

  // The following state is accessed by every call. No function that gets a property of it as
  // `inout` calls back into the handler, so accesses never overlap. The runtime's exclusivity
  // checks would cost more than the rest of the handler's work.
  /// The generation of the configuration whose rules apply to ``caller``.
  @exclusivity(unchecked) var generation: Int
  @exclusivity(unchecked) var splitter: LineSplitter
  @exclusivity(unchecked) var slice = TimeSlice.endless
  /// Input that has been read but not parsed, because replies are unread, a call waits for the
  /// disk, or it is other connections' turn.
  @exclusivity(unchecked) var backlog = ByteQueue()
  @exclusivity(unchecked) var replyCache = ReplyCache()
  /// The time of the first look-up in `replyCache` for the present input; nil before it.
  @exclusivity(unchecked) var inputTime: Timestamp?
  /// Replies that are written and not yet handed to the transport.
  @exclusivity(unchecked) var replies: [UInt8] = []

  /// Whether a line of JSON has been received. A connection that starts with anything else is
  /// closed. Otherwise a service that can be tricked into sending a request, for example over HTTP,
  /// to this socket could make RPC calls through the request's body.
  private var hasReceivedJSON = false
  var isClosing = false
  var connectionID: FairScheduler.ConnectionID = 0
  /// Whether the user's share of the event loop allows the connection to read.
  var mayRead = true { didSet { if mayRead != oldValue { adjustReading() } } }
  /// Whether the replies will be sent at the end of the loop iteration.
  private var isSendDelayed = false
  /// The number of bytes in `replies` at which they are sent at once.
  let flushThreshold: Int
  var ending = Ending.open
  /// Whether the time for answers is over: all remaining calls are refused at once.
  var isRefusing = false
  /// The number of seconds for which a closing connection may still send replies that are written.
  /// Initially the setting `unread_reply_seconds`; ``drain(unreadReplySeconds:)`` replaces it.
  var lastReplySeconds: Int
  /// Whether replies that cannot be sent at once are dropped: from a lock of the daemon until the
  /// calls that were in flight at that time are answered.
  var dropsUnread = false

  var inFlight: [RequestID: InFlightCall] = [:]
  /// The tasks of notifications (calls without an id) that wait. They get no reply and are
  /// cancelled with the connection.
  var notificationTasks: [Int: Task<Void, Never>] = [:]
  var callsInFlight = 0
  var batches: [Int: BatchCollector] = [:]
  /// The number of bytes of the replies in ``batches`` that wait for the rest of their batch.
  var batchedBytes = 0
  var nextNumber = 0
  let feed = EventFeed()
  /// The RPC calls that wait for the disk, in the order of their arrival.
  var coldCalls: [ColdCall] = [] {
    didSet { if coldCalls.isEmpty != oldValue.isEmpty { adjustReading() } }
  }
  /// The task that loads the data for the first call in `coldCalls`.
  var readTask: Task<Void, Never>?
  /// The long line that is being parsed off the event loop.
  var pendingLongLine: PendingLongLine? {
    didSet { if (pendingLongLine == nil) != (oldValue == nil) { adjustReading() } }
  }

  /// The JSON-RPC batch that has calls which have not run yet; nil if there is none.
  var unfinishedBatch: UnfinishedBatch? {
    didSet { if (unfinishedBatch == nil) != (oldValue == nil) { adjustReading() } }
  }

  /// An RPC call that is answered by a task, for instance because it waits for a provider.
  struct InFlightCall {
    let number: Int
    let origin: Origin
    let task: Task<Void, Never>
  }

  /// An RPC call that needs data which is not in memory and has to be loaded from disk.
  struct ColdCall {
    let number: Int
    let id: RequestID?
    let origin: Origin
    let read: @Sendable () async throws(UsherError) -> Response
  }

  /// The progress towards closing the connection.
  enum Ending {
    case open
    /// The peer has sent its last byte. Its calls are still answered, its subscriptions continue.
    case inputEnded
    /// The daemon stops. Input that was sent before is read to its end.
    case draining
    /// The daemon stops, all input has been read, and its calls are being answered.
    case answering
  }

  /// The place of the reply to an RPC call: a line of its own, or the reply of a batch, given by
  /// the batch's number and the call's index.
  enum Origin {
    case line
    case batch(Int, Int)
  }

  /// - Parameter onClose: Called once, when the connection has been closed.
  init(
    caller: CallerCache, service: RPCService, scheduler: ConnectionScheduler,
    through transport: Transport,
    party: FairScheduler.Party, onClose: @escaping (ConnectionHandler) -> Void = { _ in }
  ) {
    generation = service.configStore.generation
    callerCache = caller
    self.caller = caller.caller
    self.service = service
    self.scheduler = scheduler
    self.transport = transport
    self.party = party
    self.onClose = onClose
    limits = service.limits.allowed(for: self.caller)
    lastReplySeconds = limits.unreadReplySeconds
    let json = JSONLimits(
      lineBytes: limits.maxLineBytes, nesting: limits.nesting, batch: limits.batch)
    flushThreshold = min(65_536, limits.unreadReplyBytes / 2)
    scanner = Scanner(limits: json)
    splitter = LineSplitter(maxLineBytes: limits.maxLineBytes)
  }

  /// Starts to watch the connection for input.
  ///
  /// - Parameter begun: The time at which accepting the connection began.
  /// - Throws: `internalError` if the kernel cannot watch the connection, which is then closed.
  func begin(since begun: NIODeadline) throws(UsherError) {
    scheduler.add(self, since: begun)
    try transport.begin(for: self)
  }

  func closed() {
    isClosing = true
    lineTimer?.cancel()
    unreadTimer?.cancel()
    closeTimer?.cancel()
    for task in inFlight.values.map(\.task) + notificationTasks.values { task.cancel() }
    endSubscriptions()
    inFlight = [:]
    notificationTasks = [:]
    batches = [:]
    batchedBytes = 0
    cancelColdCalls()
    cancelLongLine()
    unfinishedBatch = nil
    replyCache.removeAll()
    replies = []
    backlog.removeAll()
    scheduler.remove(self)
    onClose(self)
  }

  func received(_ bytes: UnsafeRawBufferPointer) {
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
      mayRead = false
    }
    if !replies.isEmpty { sendSoon() }
  }

  /// Sends the written replies at the end of the loop iteration, or at once if they are many bytes.
  private func sendSoon() {
    guard replies.count <= WriteCoalescer.immediateSendBytes else { return flush() }
    guard !isSendDelayed else { return }
    isSendDelayed = true
    scheduler.coalescer.delay(self)
  }

  func sendDelayed() {
    isSendDelayed = false
    flush()
  }

  func dropUnusedReplies() -> Bool { replyCache.removeUnused() }

  /// Works on stored input, because the scheduler has given the connection its turn.
  func takeTurn() {
    guard !isClosing, canRunCall, hasWork else {
      // The connection resumes when replies are read, data is loaded or its long line is parsed.
      mayRead = true
      return
    }
    work {
      resumeBatch()
      var bytes = ByteQueue()
      swap(&bytes, &backlog)
      bytes.removeFirst(bytes.withUnsafeBytes { answerLines(in: $0) })
      if isClosing { bytes.removeAll() } else { swap(&bytes, &backlog) }
    }
    if dropsUnread { dropUnread() }
    flush()
    closeWhenDone()
  }

  /// Resumes work on stored input: replies were read, data was loaded or a long line was parsed.
  func resume() {
    guard !isClosing, hasWork else { return }
    if mayWork { takeTurn() } else { mayRead = false }
  }

  private var mayWork: Bool { isRefusing || scheduler.mayWork(self) }

  /// Works for one time slice and leaves the rest of the input in the backlog.
  private func work(_ answer: () -> Void) {
    slice = isRefusing ? .endless : scheduler.slice(for: self)
    let ended = splitter.endedLines
    answer()
    if !isClosing { watchLine(hasNewLine: splitter.endedLines != ended) }
    guard !isRefusing else { return }
    // Include the cost of sending in the measured time if the user is charged for it.
    if slice.start != nil, scheduler.isShared { flush() }
    let remaining: FairScheduler.RemainingWork =
      !hasWork || isClosing ? .nothing : canRunCall ? .runnable : .blocked
    mayRead = scheduler.recordWork(self, slice, remaining: remaining)
  }

  private var mayContinue: Bool {
    !isClosing && !slice.isOver && canRunCall && unfinishedBatch == nil
  }

  /// Whether the connection has input that it has not handled yet.
  private var hasWork: Bool { unfinishedBatch != nil || !backlog.isEmpty }

  /// Whether the next call may run: the transport has room for replies, no call waits for the disk,
  /// and no long line is being parsed.
  var canRunCall: Bool { transport.hasRoom && coldCalls.isEmpty && pendingLongLine == nil }

  /// Whether an RPC call of this connection waits or has not run yet.
  var hasPendingCalls: Bool {
    !inFlight.isEmpty || !coldCalls.isEmpty || pendingLongLine != nil || unfinishedBatch != nil
  }

  /// Answers the lines in a buffer without copying them.
  ///
  /// - Returns: The number of bytes used. The owner of the buffer must wipe it, because the bytes
  ///   may contain a secret.
  private func answerLines(in bytes: UnsafeRawBufferPointer) -> Int {
    var used = 0
    inputTime = nil
    while used < bytes.count, mayContinue {
      let remaining = UnsafeRawBufferPointer(rebasing: bytes[used...])
      let (piece, length) = splitter.next(remaining)
      used += length
      slice.spend(length)
      switch piece {
      case .line(let range): answer(UnsafeRawBufferPointer(rebasing: remaining[range]))
      case .buffered(let line): answer(line)
      case .tooLong: refuseTooLong()
      case .nothing: if batchedBytes > 0 { enforceLineLimit() }
      }
    }
    return used
  }

  private func refuseTooLong() {
    refuse(
      .null,
      UsherError(
        .messageTooLarge, "a line may have at most \(limits.maxLineBytes) bytes",
        limit: "max_line_bytes"))
    // The line was not parsed, so the connection has not shown that its peer sends JSON.
    if !hasReceivedJSON { close() }
  }

  private func answer(_ line: [UInt8]) {
    if isLong(line.count) { return read(LongLine(line)) }
    line.withUnsafeBytes { answer($0) }
  }

  private func answer(_ line: UnsafeRawBufferPointer) {
    if answerFromCache(line) { return }
    if isLong(line.count) { return read(LongLine(line)) }
    answer(line, scanner.scan(line))
  }

  private func isLong(_ bytes: Int) -> Bool { bytes > LongLine.maxBytesOnLoop && !isRefusing }

  /// Answers a scanned line.
  ///
  /// - Parameters:
  ///   - decoded: The calls in order, if their parameters have already been decoded; else empty.
  ///   - stored: The line, if it is already stored for later; else nil.
  func answer(
    _ line: UnsafeRawBufferPointer, _ scanned: Scanned, _ decoded: [DecodedCall] = [],
    stored: LongLine? = nil
  ) {
    switch scanned {
    case .call(let envelope):
      hasReceivedJSON = true
      run(envelope, line, .line, decoded.first)
    case .batch(let elements):
      hasReceivedJSON = true
      run(elements, line, decoded, stored: stored)
    case .refused(let refusal):
      let error = UsherError(refusal)
      hasReceivedJSON = hasReceivedJSON || error.reason != .parseError
      refuse(refusal.id(in: line), error)
      if !hasReceivedJSON { close() }
    case .looksLikeHTTP:
      let sentence = "this is JSON-RPC over a Unix socket, not HTTP"
      refuse(.null, UsherError(hasReceivedJSON ? .parseError : .invalidRequest, sentence))
      if !hasReceivedJSON { close() }
    }
  }
}
