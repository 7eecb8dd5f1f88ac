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
    guard let context, !isClosing else { return }
    var buffer = context.channel.allocator.buffer(capacity: line.count + 1)
    buffer.writeBytes(line)
    buffer.writeInteger(UInt8(ascii: "\n"))
    slice.spend(buffer.readableBytes)
    owesFlush = true
    context.write(wrapOutboundOut(buffer), promise: nil)
  }

  func flush() {
    guard owesFlush else { return }
    owesFlush = false
    context?.flush()
  }

  /// Closes once what was written has gone out, or could not within the time for unread replies.
  func close() {
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
    if context.channel.isWritable {
      unreadTimer?.cancel()
      unreadTimer = nil
      for name in subscriptions.keys.sorted() { drain(name) }
      adjustReading()
      // Not from inside the write that made the channel writable.
      if backlog != nil { context.eventLoop.assumeIsolated().execute { [self] in comeBack() } }
    } else {
      flush()
      adjustReading()
      watchUnread(context)
    }
    context.fireChannelWritabilityChanged()
  }

  private func watchUnread(_ context: ChannelHandlerContext) {
    guard !context.channel.isWritable, unreadTimer == nil, !isClosing else { return }
    unreadTimer = context.eventLoop.assumeIsolated().scheduleTask(
      in: .seconds(Int64(limits.unreadReplySeconds))
    ) { [self] in
      service.noteSlowReader(caller)
      context.close(promise: nil)
    }
  }

  /// Lets the channel read while the other side reads its replies and its share has room.
  func adjustReading() {
    guard let context, !isClosing else { return }
    let reads = (listens || isRefusing) && context.channel.isWritable
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
