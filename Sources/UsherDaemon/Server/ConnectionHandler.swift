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
/// its user has had its share of the loop (``FairShare``).
final class ConnectionHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Who calls, under the rules that were in force when the last call began.
  var caller: Caller
  let standing: CallerInForce
  var generation: Int
  let service: RPCService
  /// Those with which it began.
  let limits: Limits
  let turns: LoopTurns
  /// When the connection was accepted.
  private let begun: NIODeadline
  private let scanner: Scanner
  var splitter: LineSplitter
  /// Read but not yet looked at, while replies are unread, a call waits for the disk or others have
  /// their turn.
  var backlog: ByteBuffer?
  var lineTimer: Scheduled<Void>?
  var unreadTimer: Scheduled<Void>?
  private var isFirstLine = true
  private var isReading = false
  var isClosing = false
  var seat: FairShare.Seat = 0
  var slice = Slice.endless
  /// Whether its share lets it hear more.
  var listens = true { didSet { if listens != oldValue { adjustReading() } } }
  /// As the channel has been told.
  var readsByItself = true
  /// Whether the other side reads its replies: the channel keeps no more of them than it may.
  var hasRoom = true
  /// Replies that are written and not sent.
  var replies: [UInt8] = []
  /// Whether they go out when all is read that is ready now.
  var isPutOff = false
  /// Bytes of them that are sent at the latest.
  let mostGathered: Int
  var socket: DirectSocket?
  /// What the channel was given to send and has not sent: behind that comes all else.
  var queued = 0
  var answers = ConnectionAnswers()
  /// When what is read just now was first answered from them.
  var moment: Timestamp?
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
  var flights = 0
  var batches: [Int: BatchCollector] = [:]
  var nextNumber = 0
  var subscriptions: [String: Subscription] = [:]
  /// Calls that wait for the disk, one after the other.
  var cold: [ColdCall] = [] {
    didSet { if cold.isEmpty != oldValue.isEmpty { adjustReading() } }
  }
  /// Reads what the first of them is about.
  var reading: Task<Void, Never>?
  var context: ChannelHandlerContext?

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

  init(caller: CallerInForce, service: RPCService, turns: LoopTurns, since begun: NIODeadline) {
    generation = service.settings.generation
    standing = caller
    self.caller = caller.caller
    self.service = service
    self.turns = turns
    self.begun = begun
    limits = service.limits
    lastReplySeconds = limits.unreadReplySeconds
    let json = JSONLimits(
      lineBytes: limits.maxLineBytes, nesting: limits.nesting, batch: limits.batch)
    mostGathered = min(65_536, limits.unreadReplyBytes / 2)
    scanner = Scanner(limits: json)
    splitter = LineSplitter(maxLineBytes: limits.maxLineBytes)
  }

  var party: FairShare.Party { caller.isAdmin ? .admin : .user(caller.uid) }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    socket = DirectSocket(of: context)
    turns.enter(self, since: begun)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    turns.leave(self)
    self.context = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    isClosing = true
    lineTimer?.cancel()
    unreadTimer?.cancel()
    for task in inFlight.values.map(\.task) + silent.values { task.cancel() }
    for subscription in subscriptions.values { service.events.stop(subscription.listener) }
    inFlight = [:]
    silent = [:]
    dropCold()
    subscriptions = [:]
    answers.forget()
    replies = []
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isClosing else { return }
    var bytes = unwrapInboundIn(data)
    if backlog != nil {
      backlog?.writeBuffer(&bytes)
    } else if isReading {
      backlog = bytes
    } else if mayWork {
      work(on: bytes, context)
    } else {
      backlog = bytes
      listens = false
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if !replies.isEmpty { turns.desk.send(of: self) }
  }

  /// Goes on with what it has read: its turn has come.
  func takeTurn() {
    guard let context, !isClosing, isFree, let bytes = backlog else {
      // It comes back when its replies are read, or an account is.
      listens = true
      return
    }
    backlog = nil
    work(on: bytes, context)
    flush()
    closeWhenDone()
  }

  /// Goes on after its replies were read, or an account was.
  func comeBack() {
    guard !isClosing, backlog != nil else { return }
    if mayWork { takeTurn() } else { listens = false }
  }

  private var mayWork: Bool { isRefusing || turns.mayWork(self) }

  /// Works for a slice.
  private func work(on bytes: ByteBuffer, _ context: ChannelHandlerContext) {
    guard !isRefusing else {
      slice = .endless
      return read(bytes, context)
    }
    slice = turns.slice(for: self)
    read(bytes, context)
    // What is measured is the whole of it, where somebody pays for it.
    if slice.start != nil, turns.isShared { flush() }
    let rest: FairShare.Rest =
      backlog == nil || isClosing ? .nothing : isFree ? .bytes : .blocked
    listens = turns.worked(self, slice, leaving: rest)
  }

  /// Takes lines from `bytes` for as long as the connection is free, and for a slice.
  func read(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
    let ended = splitter.endedLines
    var bytes = bytes
    isReading = true
    while true {
      let used = bytes.withUnsafeReadableBytes { answerLines(in: $0) }
      bytes.moveReaderIndex(forwardBy: used)
      guard goesOn, let more = backlog else { break }
      backlog = nil
      bytes = more
    }
    isReading = false
    guard !isClosing else { return }
    if bytes.readableBytes > 0 {
      if var more = backlog { bytes.writeBuffer(&more) }
      backlog = bytes
    }
    watchLine(hasNewLine: splitter.endedLines != ended, context)
  }

  private var goesOn: Bool { !isClosing && !slice.isOver && isFree }

  /// Whether the next call may be answered: the other side reads its replies, and none waits for the
  /// disk.
  var isFree: Bool { hasRoom && cold.isEmpty }

  /// Whether a call waits.
  var isAwaited: Bool { !inFlight.isEmpty || !cold.isEmpty }

  /// Answers lines where they lie. An answer may make the channel read again, or close, before it
  /// returns: whoever has the bytes must hold them, so that nothing else is read into them.
  ///
  /// - Returns: How many bytes were taken; they are wiped.
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
      case .gathered(let line): line.withUnsafeBytes { answer($0) }
      case .tooLong: refuseTooLong()
      case .nothing: break
      }
    }
    // The channel keeps its buffers for what it reads next, for as long as it is open: what was
    // read may have been a secret.
    UnsafeRawBufferPointer(rebasing: bytes[..<used]).wipe()
    return used
  }

  private func refuseTooLong() {
    refuse(
      .null,
      UsherError(
        .messageTooLarge, "a line may have \(limits.maxLineBytes) bytes",
        detail: .init(limit: "max_line_bytes")))
  }

  private func answer(_ line: UnsafeRawBufferPointer) {
    if answerAgain(line) { return }
    defer { isFirstLine = false }
    switch scanner.scan(line) {
    case .call(let envelope): run(envelope, line, .line)
    case .batch(let elements): run(elements, line)
    case .refused(let refusal): refuse(refusal.id(in: line), UsherError(refusal))
    case .looksLikeHTTP:
      let sentence = "this is JSON-RPC over a Unix socket, not HTTP"
      refuse(.null, UsherError(isFirstLine ? .invalidRequest : .parseError, sentence))
      if isFirstLine { close() }
    }
  }
}
