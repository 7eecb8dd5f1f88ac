import NIOCore
import Synchronization

/// The connections of a listener, so that they can be told something, and closed with it.
final class OpenChannels: Sendable {
  private struct State {
    var isClosed = false
    var channels: [ObjectIdentifier: any Channel] = [:]
  }

  private let state = Mutex(State())

  /// From now on until it is closed.
  func add(_ channel: any Channel) {
    let key = ObjectIdentifier(channel)
    let isClosed = state.withLock { state in
      if !state.isClosed { state.channels[key] = channel }
      return state.isClosed
    }
    if isClosed { return channel.close(promise: nil) }
    channel.closeFuture.whenComplete { [self] _ in
      state.withLock { _ = $0.channels.removeValue(forKey: key) }
    }
  }

  var all: [any Channel] { state.withLock { Array($0.channels.values) } }

  /// Has each that keeps replies which the other side has not read closed, replies and all; returns
  /// when that is done.
  func dropUnread() async {
    let told = all.map { channel in
      channel.eventLoop.submit {
        channel.pipeline.fireUserInboundEventTriggered(DropUnreadReplies())
      }
    }
    for one in told { try? await one.get() }
  }

  /// Closes them all, and each that comes later.
  func close() {
    let channels = state.withLock { state in
      state.isClosed = true
      defer { state.channels = [:] }
      return state.channels.values
    }
    for channel in channels { channel.close(promise: nil) }
  }
}
