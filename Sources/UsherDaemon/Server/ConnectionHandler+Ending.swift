import JSONRPC
import UsherConfig
import UsherCore
import UsherTransport

// The end of a connection.
extension ConnectionHandler {
  /// Handles the end of the peer's input, as after `echo … | socat`. Calls that were received are
  /// still answered.
  func inputEnded() {
    switch ending {
    case .open: ending = .inputEnded
    case .draining: ending = .answering
    case .inputEnded, .answering: break
    }
    lineTimer?.cancel()
    lineTimer = nil
    closeWhenDone()
  }

  /// Drops cached replies because the daemon has been locked, and closes the connection at once if
  /// a reply could not be sent: replies may contain secrets.
  func dropUnread() {
    replyCache.removeAll()
    flush()
    dropsUnread = hasPendingCalls
    if transport.unsent > 0 { transport.close() }
  }

  func closeWhenDone() {
    switch ending {
    case .open, .draining: return
    case .inputEnded:
      if !hasPendingCalls, backlog.isEmpty, feed.count == 0 { close() }
    case .answering:
      if !hasPendingCalls, backlog.isEmpty { close() }
    }
  }

  /// Answers the calls that were sent before the daemon began to stop, then closes the connection.
  ///
  /// The transport still delivers the bytes that are in the socket's buffer and then reports the
  /// end of input. From now on the kernel refuses new bytes from the peer.
  ///
  /// - Parameter unreadReplySeconds: The current setting. It replaces the value from the start of
  ///   the connection.
  func drain(unreadReplySeconds: Int) {
    guard transport.isOpen else { return }
    lastReplySeconds = unreadReplySeconds
    guard !isClosing else { return scheduleClose() }
    switch ending {
    case .open: ending = .draining
    case .inputEnded: ending = .answering
    case .draining, .answering: return
    }
    lineTimer?.cancel()
    lineTimer = nil
    guard transport.stopReceiving() else {
      refuseInFlight()
      return close()
    }
    closeWhenDone()
  }

  /// Refuses the calls that are not answered when the drain time is over.
  ///
  /// Calls that were sent before the drain and have not started are refused too. They are read as
  /// fast as the peer reads the replies, within the time for unread replies.
  func end() {
    guard !isClosing, !isRefusing else { return }
    isRefusing = true
    refuseInFlight()
    guard !isClosing else { return }
    scheduleClose()
    adjustReading()
    resume()
    flush()
    closeWhenDone()
  }

  private func refuseInFlight() {
    for (id, inFlightCall) in inFlight {
      inFlightCall.task.cancel()
      fail(id, .stopping, inFlightCall.origin)
    }
    inFlight = [:]
    for call in coldCalls { fail(call.id, .stopping, call.origin) }
    cancelColdCalls()
    refuseBatch()
    refuseLongLine()
  }
}
