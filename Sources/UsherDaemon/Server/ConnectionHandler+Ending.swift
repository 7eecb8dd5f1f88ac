import Glibc
import JSONRPC
import NIOCore
import UsherConfig
import UsherCore

// The end.
extension ConnectionHandler {
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case let event as DrainConnection: drain(context, event)
    case is EndConnection: end(context)
    case is DropUnreadReplies: dropUnread()
    case ChannelEvent.inputClosed: hearNoMore()
    default: context.fireUserInboundEventTriggered(event)
    }
  }

  /// As after `echo … | socat`: the answers are still awaited.
  private func hearNoMore() {
    switch ending {
    case .open: ending = .heardAll
    case .draining: ending = .answering
    case .heardAll, .answering: break
    }
    lineTimer?.cancel()
    lineTimer = nil
    closeWhenDone()
  }

  /// Ends the connection at once where a reply has not gone out, and keeps none to give again.
  func dropUnread() {
    answers.forget()
    flush()
    keepsNothing = isAwaited
    guard let channel = context?.channel, let options = channel.syncOptions,
      let unread = try? options.getOption(.bufferedWritableBytes), unread > 0
    else { return }
    channel.close(promise: nil)
  }

  func closeWhenDone() {
    switch ending {
    case .open, .draining: return
    case .heardAll:
      if !isAwaited, backlog == nil, subscriptions.isEmpty { close() }
    case .answering:
      if !isAwaited, backlog == nil { close() }
    }
  }

  /// Hears no more. The kernel keeps what has been sent for us to read, and then tells of the end,
  /// as if the other side had sent all it will; from now on it refuses what the other side sends.
  private func drain(_ context: ChannelHandlerContext, _ event: DrainConnection) {
    lastReplySeconds = event.unreadReplySeconds
    guard !isClosing else { return closeAtLast(context) }
    switch ending {
    case .open: ending = .draining
    case .heardAll: ending = .answering
    case .draining, .answering: return
    }
    lineTimer?.cancel()
    lineTimer = nil
    let isShut = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
      of: NIOBSDSocket.Handle.self
    ) { shutdown($0, Int32(SHUT_RD)) == 0 }
    guard isShut == true else {
      refuseInFlight()
      return close()
    }
    closeWhenDone()
  }

  /// Refuses what is not answered by now, and what was sent before and is not begun: to its end, as
  /// fast as the other side reads, within the time for unread replies.
  private func end(_ context: ChannelHandlerContext) {
    guard !isClosing, !isRefusing else { return }
    isRefusing = true
    refuseInFlight()
    closeAtLast(context)
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
  }
}

extension UsherError {
  /// The daemon that the caller comes to again is the next one.
  static let stopping = UsherError(
    .shuttingDown, "usherd is stopping", detail: .init(retryAfterMs: 1000))
}

/// Tells a connection to hear no more, answer what it has heard, and close.
struct DrainConnection {
  /// Whatever the connection began with.
  let unreadReplySeconds: Int
}

/// Tells a connection that the time for that is over: what is not answered gets `shutting_down`.
struct EndConnection {}

/// Tells a connection that the daemon has been locked: what has not been read is not kept.
struct DropUnreadReplies {}
