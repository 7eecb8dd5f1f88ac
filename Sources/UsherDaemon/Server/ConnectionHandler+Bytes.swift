import JSONRPC
import NIOCore
import UsherConfig
import UsherCore

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
    guard takeRoom() else { return }
    replies.append(contentsOf: line)
    slice.spend(line.count)
    endLine()
  }

  /// The reply of a call, put together where it leaves.
  func write(_ result: [UInt8], id: UnsafeRawBufferPointer) {
    guard takeRoom() else { return }
    result.withUnsafeBytes { replies.appendResult($0, id: id) }
    slice.spendLittle(result.count)
    endLine()
  }

  private func takeRoom() -> Bool {
    guard context != nil, !isClosing else { return false }
    if replies.isEmpty { replies = turns.desk.takeRoom() }
    return true
  }

  private func endLine() {
    replies.append(UInt8(ascii: "\n"))
    if replies.count >= mostGathered { flush() }
  }

  /// Sends what is written: at once what the kernel takes, the rest by the channel.
  func flush() {
    guard !replies.isEmpty, let context else { return }
    // What is called from here may write, too.
    var lines: [UInt8] = []
    swap(&lines, &replies)
    let sent = queued == 0 && context.channel.isActive ? socket?.send(lines) ?? 0 : 0
    if sent < lines.count { queue(lines[sent...], context) }
    lines.wipe()
    turns.desk.giveRoom(lines)
  }

  private func queue(_ bytes: ArraySlice<UInt8>, _ context: ChannelHandlerContext) {
    let buffer = context.channel.allocator.buffer(bytes: bytes)
    queued += 1
    context.writeAndFlush(wrapOutboundOut(buffer)).assumeIsolated().whenComplete { [self] _ in
      queued -= 1
    }
  }

  /// Closes once what was written has gone out, or could not within the time for unread replies.
  func close() {
    flush()
    guard let context, !isClosing else { return }
    isClosing = true
    backlog = nil
    let channel = context.channel
    closeAtLast(context)
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
      channel.close(promise: nil)
    }
  }

  /// Whatever has gone out by then.
  func closeAtLast(_ context: ChannelHandlerContext) {
    let channel = context.channel
    let timer = context.eventLoop.scheduleTask(in: .seconds(Int64(lastReplySeconds))) {
      channel.close(promise: nil)
    }
    channel.closeFuture.whenComplete { _ in timer.cancel() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    hasRoom = context.channel.isWritable
    if hasRoom {
      unreadTimer?.cancel()
      unreadTimer = nil
      for name in subscriptions.keys.sorted() { drain(name) }
      flush()
      adjustReading()
      // Not from inside the write that made the channel writable.
      if backlog != nil { context.eventLoop.assumeIsolated().execute { [self] in comeBack() } }
    } else {
      adjustReading()
      watchUnread(context)
    }
    context.fireChannelWritabilityChanged()
  }

  private func watchUnread(_ context: ChannelHandlerContext) {
    guard !hasRoom, unreadTimer == nil, !isClosing else { return }
    unreadTimer = context.eventLoop.assumeIsolated().scheduleTask(
      in: .seconds(Int64(limits.unreadReplySeconds))
    ) { [self] in
      service.noteSlowReader(caller)
      context.close(promise: nil)
    }
  }

  /// Lets the channel read while it is free and its share has room.
  func adjustReading() {
    guard let context, !isClosing else { return }
    let reads = (listens || isRefusing) && isFree
    guard reads != readsByItself else { return }
    readsByItself = reads
    context.channel.syncOptions.map { try? $0.setOption(.autoRead, value: reads) }
    watchLine(hasNewLine: reads, context)
  }

  /// A line has so long from its first byte to its end. Not where we do not read: then it starts
  /// anew.
  func watchLine(hasNewLine: Bool, _ context: ChannelHandlerContext) {
    guard splitter.hasPartialLine, backlog == nil, ending == .open, readsByItself else {
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
