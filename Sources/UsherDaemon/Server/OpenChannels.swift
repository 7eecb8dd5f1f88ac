import NIOCore
import Synchronization

/// Connections of a listener, which are closed together with it.
final class OpenChannels: Sendable {
  private struct State {
    var isClosed = false
    var channels: [ObjectIdentifier: any Channel] = [:]
  }

  private let state = Mutex(State())

  /// Adds a channel until it closes; closes it at once if the listener is closed already.
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

  /// Closes all channels, and each channel that is added later.
  func close() {
    let channels = state.withLock { state in
      state.isClosed = true
      defer { state.channels = [:] }
      return state.channels.values
    }
    for channel in channels { channel.close(promise: nil) }
  }
}
