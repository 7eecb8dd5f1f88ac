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
    guard !isClosing else { return false }
    if replies.isEmpty { replies = turns.coalescer.takeRoom() }
    return true
  }

  private func endLine() {
    replies.append(UInt8(ascii: "\n"))
    if replies.count >= mostGathered { flush() }
  }

  /// Sends what is written.
  func flush() {
    guard !replies.isEmpty else { return }
    // What is called from here may write, too.
    var lines: [UInt8] = []
    swap(&lines, &replies)
    transport.send(lines)
    lines.wipe()
    turns.coalescer.giveRoom(lines)
  }

  /// Closes once what was written has gone out, or could not within the time for unread replies.
  func close() {
    flush()
    guard !isClosing else { return }
    isClosing = true
    backlog.removeAll()
    unfinished = nil
    closeAtLast()
    transport.closeWhenSent()
  }

  /// Whatever has gone out by then.
  func closeAtLast() {
    let timer = transport.loop.scheduleTask(in: .seconds(Int64(lastReplySeconds))) { [self] in
      transport.close()
    }
    if let closeTimer, closeTimer.deadline <= timer.deadline { return timer.cancel() }
    closeTimer?.cancel()
    closeTimer = timer
  }

  func adjustToRoom() {
    if transport.hasRoom {
      unreadTimer?.cancel()
      unreadTimer = nil
      if feed.isAwake { turns.deliver(self) }
      flush()
      adjustReading()
      comeBack()
    } else {
      adjustReading()
      watchUnread()
    }
  }

  private func watchUnread() {
    guard unreadTimer == nil, !isClosing else { return }
    unreadTimer = transport.loop.scheduleTask(in: .seconds(Int64(limits.unreadReplySeconds))) {
      [self] in
      service.noteSlowReader(caller)
      transport.close()
    }
  }

  /// Lets the transport read while the connection is free and its share has room.
  func adjustReading() {
    guard !isClosing else { return }
    let reads = (listens || isRefusing) && isFree && unfinished == nil
    guard reads != transport.reads else { return }
    transport.reads = reads
    watchLine(hasNewLine: reads)
  }

  /// A line has so long from its first byte to its end. Not where we do not read: then it starts
  /// anew.
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
          detail: .init(limit: "line_seconds")))
      close()
    }
  }
}
