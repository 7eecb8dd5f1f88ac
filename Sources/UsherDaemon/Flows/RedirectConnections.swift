import NIOCore
import Synchronization

/// The open connections to loopback listeners, for browser redirects or providers' callbacks. Their
/// number is bounded because any local user can open them.
///
/// Above the limit, the oldest connection without a valid request is closed. A browser or provider
/// sends its request at once, so idle connections cannot block it.
final class RedirectConnections: Sendable {
  static let maxPerListener = 64
  static let maxTotal = 256

  final class Connection: Sendable {
    fileprivate let number: UInt64
    fileprivate let channel: any Channel
    fileprivate let listener: any AnyObject & Sendable
    /// Whether the connection waits for the response to a valid request: it must not be closed.
    private let protection = Mutex(false)

    fileprivate init(
      _ number: UInt64, _ channel: any Channel, _ listener: any AnyObject & Sendable
    ) {
      self.number = number
      self.channel = channel
      self.listener = listener
    }

    fileprivate var isProtected: Bool { protection.withLock { $0 } }

    /// Keeps the connection, which has sent a valid request, from being closed for another one.
    func protect() { protection.withLock { $0 = true } }
  }

  private struct State {
    var next: UInt64 = 0
    var connections: [UInt64: Connection] = [:]
  }

  private let state = Mutex(State())

  /// Registers a new connection. If the limit is reached, closes the oldest connection without a
  /// valid request.
  ///
  /// - Parameter listener: Identifies the listener that accepted the connection.
  /// - Returns: Nil if the new connection must be closed because all others wait for responses.
  func admit(_ channel: any Channel, to listener: any AnyObject & Sendable) -> Connection? {
    let (connection, evicted) = state.withLock { state -> (Connection?, Connection?) in
      let ofListener = state.connections.values.filter { $0.listener === listener }
      var evicted: Connection?
      if ofListener.count >= Self.maxPerListener || state.connections.count >= Self.maxTotal {
        let candidates =
          ofListener.count >= Self.maxPerListener ? ofListener : Array(state.connections.values)
        evicted = candidates.filter { !$0.isProtected }.min { $0.number < $1.number }
        guard let evicted else { return (nil, nil) }
        state.connections[evicted.number] = nil
      }
      state.next += 1
      let connection = Connection(state.next, channel, listener)
      state.connections[connection.number] = connection
      return (connection, evicted)
    }
    evicted?.channel.close(promise: nil)
    guard let connection else { return nil }
    channel.closeFuture.whenComplete { [weak self] _ in
      self?.state.withLock { _ = $0.connections.removeValue(forKey: connection.number) }
    }
    return connection
  }

  func closeAll(of listener: any AnyObject & Sendable) {
    let connections = state.withLock { state in
      state.connections.values.filter { $0.listener === listener }
    }
    for connection in connections { connection.channel.close(promise: nil) }
  }
}
