import JSONRPC
import Logging
import NIOCore
import UsherAPI
import UsherConfig
import UsherCore

/// One connection: bytes in, calls run, bytes out. Everything here runs on its event loop.
///
/// Cheap calls are answered where they are read; only a call that waits gets a task. Reading stops
/// while the other side does not read its replies, so nobody can make the daemon keep them.
final class ConnectionHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  let caller: Caller
  let service: RPCService
  let limits: Limits
  private let scanner: Scanner
  private var splitter: LineSplitter
  /// Read but not yet looked at, while replies are unread.
  var backlog: ByteBuffer?
  var lineTimer: Scheduled<Void>?
  private var unreadTimer: Scheduled<Void>?
  private var isFirstLine = true
  private var isReading = false
  private var isClosing = false
  var ending = Ending.open

  var inFlight: [RequestID: Flight] = [:]
  /// Calls without an id that wait: nobody hears of them, and they end with the connection.
  private var silent: [Int: Task<Void, Never>] = [:]
  private var flights = 0
  private var batches: [Int: BatchCollector] = [:]
  private var nextNumber = 0
  var subscriptions: [String: Subscription] = [:]
  var context: ChannelHandlerContext?

  /// A call that waits.
  struct Flight {
    let number: Int
    let origin: Origin
    let task: Task<Void, Never>
  }

  /// What is still to be done before the connection is closed.
  enum Ending {
    case open
    /// The other side has said all it will: its calls are answered, its subscriptions go on.
    case heardAll
    /// The daemon stops: calls in flight are answered.
    case draining
  }

  /// Where a call's reply goes.
  enum Origin {
    case line
    case batch(Int, Int)
  }

  init(caller: Caller, service: RPCService) {
    self.caller = caller
    self.service = service
    limits = service.limits
    let json = JSONLimits(
      lineBytes: limits.maxLineBytes, nesting: limits.nesting, batch: limits.batch)
    scanner = Scanner(limits: json)
    splitter = LineSplitter(maxLineBytes: limits.maxLineBytes)
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelInactive(context: ChannelHandlerContext) {
    isClosing = true
    lineTimer?.cancel()
    unreadTimer?.cancel()
    for task in inFlight.values.map(\.task) + silent.values { task.cancel() }
    for subscription in subscriptions.values { service.events.stop(subscription.listener) }
    inFlight = [:]
    silent = [:]
    subscriptions = [:]
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    if backlog != nil {
      backlog?.writeBuffer(&bytes)
    } else if isReading {
      backlog = bytes
    } else {
      read(bytes, context)
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) { context.flush() }

  /// Takes lines from `bytes` for as long as the other side reads its replies.
  ///
  /// A line is cut first and answered afterwards: an answer may make the channel read again, or
  /// close, before it returns.
  private func read(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
    let ended = splitter.endedLines
    var bytes = bytes
    isReading = true
    while !isClosing, context.channel.isWritable {
      if let piece = cut(&bytes) {
        take(piece)
      } else if let more = backlog {
        backlog = nil
        bytes = more
      } else {
        break
      }
    }
    isReading = false
    guard !isClosing else { return }
    if bytes.readableBytes > 0 {
      if var more = backlog { bytes.writeBuffer(&more) }
      backlog = bytes
    }
    watchLine(hasNewLine: splitter.endedLines != ended, context)
  }

  /// One line, or what took its place.
  private enum Piece {
    case line([UInt8])
    case tooLong
  }

  private func cut(_ bytes: inout ByteBuffer) -> Piece? {
    var piece: Piece?
    let used = bytes.withUnsafeReadableBytes { whole in
      var rest = whole
      _ = splitter.next(&rest) { event in
        switch event {
        case .line(let line): piece = .line(Array(line))
        case .tooLong: piece = .tooLong
        }
      }
      return whole.count - rest.count
    }
    bytes.moveReaderIndex(forwardBy: used)
    return piece
  }

  private func take(_ piece: Piece) {
    switch piece {
    case .line(let line): line.withUnsafeBytes { answer($0) }
    case .tooLong:
      refuse(
        .null,
        UsherError(
          .messageTooLarge, "a line may have \(limits.maxLineBytes) bytes",
          detail: .init(limit: "max_line_bytes")))
    }
  }

  private func answer(_ line: UnsafeRawBufferPointer) {
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

// Calls.
extension ConnectionHandler {
  private func run(_ elements: [Scanned.Element], _ line: UnsafeRawBufferPointer) {
    let batch = newNumber()
    let collector = BatchCollector(elements)
    if !collector.expectsNothing { batches[batch] = collector }
    for (index, element) in elements.enumerated() {
      switch element {
      case .call(let envelope): run(envelope, line, .batch(batch, index))
      case .refused(let refusal):
        let error = service.errorReply(UsherError(refusal), refusal.id(in: line), caller)
        send(error, .batch(batch, index))
      }
    }
  }

  private func run(_ envelope: Envelope, _ line: UnsafeRawBufferPointer, _ origin: Origin) {
    let id = envelope.id(in: line)
    if let id, inFlight[id] != nil {
      let error = UsherError(.invalidRequest, "id \(id) is still in use on this connection")
      return send(service.errorReply(error, .null, caller), origin)
    }
    do throws(UsherError) {
      let response = try service.respond(
        to: envelope.method(in: line), params: envelope.paramsBytes(in: line),
        Call(caller: caller, connection: self))
      switch response {
      case .now(let result): succeed(id, result, origin)
      case .later(let body): try start(id, origin, body)
      }
    } catch {
      fail(id, error, origin)
    }
  }

  private func start(
    _ id: RequestID?, _ origin: Origin,
    _ body: @escaping @Sendable () async throws(UsherError) -> [UInt8]
  ) throws(UsherError) {
    guard flights < limits.callsInFlight else {
      throw UsherError(
        .overloaded, "this connection has \(limits.callsInFlight) calls in flight",
        detail: .init(limit: "calls_in_flight"))
    }
    guard let context else { return }
    flights += 1
    let number = newNumber()
    let loop = context.eventLoop
    let handler = NIOLoopBound(self, eventLoop: loop)
    let task = Task {
      let outcome: Result<[UInt8], UsherError>
      do throws(UsherError) {
        outcome = .success(try await body())
      } catch {
        outcome = .failure(error)
      }
      loop.execute { handler.value.landed(id, number, outcome) }
    }
    if let id {
      inFlight[id] = Flight(number: number, origin: origin, task: task)
    } else {
      silent[number] = task
    }
  }

  private func landed(
    _ id: RequestID?, _ number: Int, _ outcome: Result<[UInt8], UsherError>
  ) {
    flights -= 1
    silent[number] = nil
    defer { closeWhenDone() }
    guard let id, let flight = inFlight[id], flight.number == number else {
      if id == nil, case .failure(let error) = outcome { service.log(error, caller) }
      return
    }
    inFlight[id] = nil
    switch outcome {
    case .success(let result): succeed(id, result, flight.origin)
    case .failure(let error): fail(id, error, flight.origin)
    }
    context?.flush()
  }

  private func succeed(_ id: RequestID?, _ result: [UInt8], _ origin: Origin) {
    guard let id else { return }
    var reply: [UInt8] = []
    reply.appendResult(result, id: id)
    send(reply, origin)
  }

  func fail(_ id: RequestID?, _ error: UsherError, _ origin: Origin) {
    if let id {
      send(service.errorReply(error, id, caller), origin)
    } else {
      service.log(error, caller)
    }
  }

  private func refuse(_ id: RequestID, _ error: UsherError) {
    send(service.errorReply(error, id, caller), .line)
  }

  func newNumber() -> Int {
    nextNumber += 1
    return nextNumber
  }
}

// Bytes out.
extension ConnectionHandler {
  func send(_ reply: [UInt8], _ origin: Origin) {
    switch origin {
    case .line: write(reply)
    case .batch(let batch, let index):
      guard case .complete(let line)? = batches[batch]?.fill(index, with: reply) else { return }
      batches[batch] = nil
      write(line)
    }
  }

  func write(_ line: [UInt8]) {
    guard let context, !isClosing else { return }
    var buffer = context.channel.allocator.buffer(capacity: line.count + 1)
    buffer.writeBytes(line)
    buffer.writeInteger(UInt8(ascii: "\n"))
    context.write(wrapOutboundOut(buffer), promise: nil)
  }

  /// Closes once what was written has gone out, or could not within the time for unread replies.
  func close() {
    guard let context, !isClosing else { return }
    isClosing = true
    backlog = nil
    let channel = context.channel
    let timer = context.eventLoop.scheduleTask(in: .seconds(Int64(limits.unreadReplySeconds))) {
      channel.close(promise: nil)
    }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
      timer.cancel()
      channel.close(promise: nil)
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable {
      unreadTimer?.cancel()
      unreadTimer = nil
      for name in subscriptions.keys.sorted() { drain(name) }
      resumeReading(context)
    } else {
      context.flush()
      pauseReading(context)
    }
    context.fireChannelWritabilityChanged()
  }

  private func pauseReading(_ context: ChannelHandlerContext) {
    guard !context.channel.isWritable, unreadTimer == nil, !isClosing else { return }
    context.channel.syncOptions.map { try? $0.setOption(.autoRead, value: false) }
    unreadTimer = context.eventLoop.assumeIsolated().scheduleTask(
      in: .seconds(Int64(limits.unreadReplySeconds))
    ) { [self] in
      service.noteSlowReader(caller)
      context.close(promise: nil)
    }
  }

  private func resumeReading(_ context: ChannelHandlerContext) {
    context.channel.syncOptions.map { try? $0.setOption(.autoRead, value: true) }
    guard backlog != nil else { return }
    // Not from inside the write that made the channel writable.
    context.eventLoop.assumeIsolated().execute { [self] in
      guard !isClosing, let bytes = backlog else { return }
      backlog = nil
      read(bytes, context)
      context.flush()
      closeWhenDone()
    }
  }

  /// A line has so long from its first byte to its end.
  private func watchLine(hasNewLine: Bool, _ context: ChannelHandlerContext) {
    guard splitter.hasPartialLine, backlog == nil, ending == .open else {
      lineTimer?.cancel()
      lineTimer = nil
      return
    }
    guard hasNewLine || lineTimer == nil else { return }
    lineTimer?.cancel()
    lineTimer = context.eventLoop.assumeIsolated().scheduleTask(
      in: .seconds(Int64(limits.lineSeconds))
    ) { [self] in
      refuse(
        .null,
        UsherError(
          .deadlineExceeded, "a line must end within \(limits.lineSeconds) s of its first byte",
          detail: .init(limit: "line_seconds")))
      close()
    }
  }
}

extension UsherError {
  init(_ refusal: JSONRPC.Refusal) {
    self.init(
      refusal.code == Reason.parseError.code ? .parseError : .invalidRequest, refusal.message,
      detail: .init(limit: refusal.limit?.rawValue))
  }
}
