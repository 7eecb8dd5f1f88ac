import JSONRPC
import NIOCore
import UsherConfig
import UsherCore

// The end.
extension ConnectionHandler {
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case let drain as DrainConnection: self.drain(within: drain.grace, context)
    case is DropUnreadReplies: dropUnread()
    case ChannelEvent.inputClosed: hearNoMore()
    default: context.fireUserInboundEventTriggered(event)
    }
  }

  /// As after `echo … | socat`: the answers are still awaited.
  private func hearNoMore() {
    if ending == .open { ending = .heardAll }
    lineTimer?.cancel()
    lineTimer = nil
    closeWhenDone()
  }

  /// Ends the connection at once where a reply has not gone out.
  func dropUnread() {
    flush()
    keepsNothing = !inFlight.isEmpty
    guard let channel = context?.channel, let options = channel.syncOptions,
      let unread = try? options.getOption(.bufferedWritableBytes), unread > 0
    else { return }
    channel.close(promise: nil)
  }

  func closeWhenDone() {
    switch ending {
    case .open: return
    case .heardAll:
      if inFlight.isEmpty, backlog == nil, subscriptions.isEmpty { close() }
    case .draining:
      if inFlight.isEmpty { close() }
    }
  }

  private func drain(within grace: Duration, _ context: ChannelHandlerContext) {
    ending = .draining
    guard !inFlight.isEmpty else { return close() }
    context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(grace)) { [self] in
      let stopping = UsherError(.shuttingDown, "usherd is stopping")
      for (id, flight) in inFlight {
        flight.task.cancel()
        fail(id, stopping, flight.origin)
      }
      inFlight = [:]
      close()
    }
  }
}

/// Tells a connection to answer what is in flight and close; what is not answered in time gets
/// `shutting_down`.
struct DrainConnection {
  let grace: Duration
}

/// Tells a connection that the daemon has been locked: what has not been read is not kept.
struct DropUnreadReplies {}
