import JSONRPC
import NIOCore
import UsherConfig
import UsherCore
import UsherTransport

// Output of a connection.
extension ConnectionHandler {
  func send(_ reply: [UInt8], _ origin: Origin) {
    switch origin {
    case .line: write(reply)
    case .batch(let batch, let index):
      let before = batches[batch]?.filledBytes ?? 0
      switch batches[batch]?.fill(index, with: reply) {
      case .waiting: batchedBytes += reply.count
      case .complete(let line):
        batches[batch] = nil
        batchedBytes -= before
        write(line)
      case .ignore, nil: break
      }
    }
  }

  func write(_ line: [UInt8]) {
    guard takeBuffer() else { return }
    replies.append(contentsOf: line)
    slice.spend(line.count)
    endLine()
  }

  /// Writes the reply of a call. The line is assembled directly in the output buffer, which saves
  /// an allocation.
  func write(_ result: [UInt8], id: UnsafeRawBufferPointer) {
    guard takeBuffer() else { return }
    result.withUnsafeBytes { replies.appendResult($0, id: id) }
    slice.spendCopy(result.count)
    endLine()
  }

  private func takeBuffer() -> Bool {
    guard !isClosing else { return false }
    if replies.isEmpty { replies = scheduler.coalescer.takeBuffer() }
    return true
  }

  private func endLine() {
    replies.append(UInt8(ascii: "\n"))
    if replies.count >= flushThreshold { flush() }
  }

  /// Hands the written replies to the transport.
  func flush() {
    guard !replies.isEmpty else { return }
    // The transport may cause more replies to be written, so the buffer is taken out first.
    var lines: [UInt8] = []
    swap(&lines, &replies)
    transport.send(lines)
    lines.wipe()
    scheduler.coalescer.returnBuffer(lines)
  }

  /// Closes the connection when the written replies are sent, at the latest when the time for
  /// unread replies is over.
  func close() {
    flush()
    guard !isClosing else { return }
    isClosing = true
    backlog.removeAll()
    unfinishedBatch = nil
    scheduleClose()
    transport.closeWhenSent()
  }

  /// Schedules the final close, whether or not all replies are sent by then. A deadline that was
  /// set earlier and ends sooner is kept.
  func scheduleClose() {
    let timer = transport.loop.scheduleTask(in: .seconds(Int64(lastReplySeconds))) { [self] in
      transport.close()
    }
    if let closeTimer, closeTimer.deadline <= timer.deadline { return timer.cancel() }
    closeTimer?.cancel()
    closeTimer = timer
  }

  func roomChanged() {
    if transport.hasRoom {
      unreadTimer?.cancel()
      unreadTimer = nil
      if feed.isAwake { scheduler.deliver(self) }
      flush()
      adjustReading()
      resume()
    } else {
      adjustReading()
      watchUnread()
    }
  }

  private func watchUnread() {
    guard unreadTimer == nil, !isClosing else { return }
    unreadTimer = transport.loop.scheduleTask(in: .seconds(Int64(limits.unreadReplySeconds))) {
      [self] in
      service.logSlowReader(caller)
      transport.close()
    }
  }

  /// Lets the transport read only while the connection can handle another call and its user's share
  /// of the event loop permits reading.
  func adjustReading() {
    guard !isClosing else { return }
    let reads = (mayRead || isRefusing) && canRunCall && unfinishedBatch == nil
    guard reads != transport.reads else { return }
    transport.reads = reads
    watchLine(hasNewLine: reads)
  }

  /// Starts, keeps or cancels the timer for an incomplete line, which must end within
  /// `line_seconds` of its first byte.
  ///
  /// The timer does not run while the transport does not read. It starts again when reading
  /// resumes.
  func watchLine(hasNewLine: Bool) {
    guard splitter.hasPartialLine, backlog.isEmpty, ending == .open, transport.reads else {
      lineTimer?.cancel()
      lineTimer = nil
      return
    }
    guard hasNewLine || lineTimer == nil else { return }
    lineTimer?.cancel()
    lineTimer = transport.loop.scheduleTask(in: .seconds(Int64(limits.lineSeconds))) { [self] in
      refuse(
        .null,
        UsherError(
          .deadlineExceeded, "a line must end within \(limits.lineSeconds) s of its first byte",
          limit: "line_seconds"))
      close()
    }
  }
}
