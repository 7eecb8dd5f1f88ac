import JSONRPC
import UsherConfig
import UsherCore

// The end.
extension ConnectionHandler {
  /// As after `echo … | socat`: the answers are still awaited.
  func hearNoMore() {
    switch ending {
    case .open: ending = .heardAll
    case .draining: ending = .answering
    case .heardAll, .answering: break
    }
    lineTimer?.cancel()
    lineTimer = nil
    closeWhenDone()
  }

  /// The daemon has been locked: ends the connection at once where a reply has not gone out, and keeps
  /// none to give again.
  func dropUnread() {
    answers.forget()
    flush()
    keepsNothing = isAwaited
    if transport.unsent > 0 { transport.close() }
  }

  func closeWhenDone() {
    switch ending {
    case .open, .draining: return
    case .heardAll:
      if !isAwaited, backlog.isEmpty, feed.count == 0 { close() }
    case .answering:
      if !isAwaited, backlog.isEmpty { close() }
    }
  }

  /// The daemon stops: answers what it has heard, and closes. The kernel keeps what has been sent for us
  /// to read, and then tells of the end, as if the other side had sent all it will; from now on it
  /// refuses what the other side sends.
  ///
  /// - Parameter unreadReplySeconds: Whatever the connection began with.
  func drain(unreadReplySeconds: Int) {
    guard transport.isOpen else { return }
    lastReplySeconds = unreadReplySeconds
    guard !isClosing else { return closeAtLast() }
    switch ending {
    case .open: ending = .draining
    case .heardAll: ending = .answering
    case .draining, .answering: return
    }
    lineTimer?.cancel()
    lineTimer = nil
    guard transport.hearNoMore() else {
      refuseInFlight()
      return close()
    }
    closeWhenDone()
  }

  /// The time for that is over: refuses what is not answered by now, and what was sent before and is
  /// not begun: to its end, as fast as the other side reads, within the time for unread replies.
  func end() {
    guard !isClosing, !isRefusing else { return }
    isRefusing = true
    refuseInFlight()
    guard !isClosing else { return }
    closeAtLast()
    adjustReading()
    comeBack()
    flush()
    closeWhenDone()
  }

  private func refuseInFlight() {
    for (id, flight) in inFlight {
      flight.task.cancel()
      fail(id, .stopping, flight.origin)
    }
    inFlight = [:]
    for call in cold { fail(call.id, .stopping, call.origin) }
    dropCold()
    refuseBatch()
    refuseLongLine()
  }
}

extension UsherError {
  /// The daemon that the caller comes to again is the next one.
  static let stopping = UsherError(
    .shuttingDown, "usherd is stopping", detail: .init(retryAfterMs: 1000))
}
