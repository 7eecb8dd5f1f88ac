import NIOCore
import Synchronization

/// The open connections to loopback listeners, for browser redirects or providers' callbacks. Their
/// number is bounded because any local user can open them.
///
/// Above the limit, the oldest connection without a valid request is closed. A browser or provider
/// sends its request at once, so idle connections cannot block it.
final class RedirectConnections: Sendable {
  static let mostPerListener = 64
  static let mostInAll = 256

  final class Place: Sendable {
    fileprivate let number: UInt64
    fileprivate let channel: any Channel
    fileprivate let listener: any AnyObject & Sendable
    /// Whether the connection waits for the response to a valid request: it must not be closed.
    private let holds = Mutex(false)

    fileprivate init(
      _ number: UInt64, _ channel: any Channel, _ listener: any AnyObject & Sendable
    ) {
      self.number = number
      self.channel = channel
      self.listener = listener
    }

    fileprivate var isHeld: Bool { holds.withLock { $0 } }

    /// Keeps the connection, which has sent a valid request, from being closed for another one.
    func hold() { holds.withLock { $0 = true } }
  }

  private struct State {
    var next: UInt64 = 0
    var places: [UInt64: Place] = [:]
  }

  private let state = Mutex(State())

  /// Registers a new connection. If the limit is reached, closes the oldest connection without a
  /// valid request.
  ///
  /// - Parameter listener: Identifies the listener that accepted the connection.
  /// - Returns: Nil if the new connection must be closed because all others wait for responses.
  func admit(_ channel: any Channel, to listener: any AnyObject & Sendable) -> Place? {
    let (place, surplus) = state.withLock { state -> (Place?, Place?) in
      let here = state.places.values.filter { $0.listener === listener }
      var surplus: Place?
      if here.count >= Self.mostPerListener || state.places.count >= Self.mostInAll {
        let candidates = here.count >= Self.mostPerListener ? here : Array(state.places.values)
        surplus = candidates.filter { !$0.isHeld }.min { $0.number < $1.number }
        guard let surplus else { return (nil, nil) }
        state.places[surplus.number] = nil
      }
      state.next += 1
      let place = Place(state.next, channel, listener)
      state.places[place.number] = place
      return (place, surplus)
    }
    surplus?.channel.close(promise: nil)
    guard let place else { return nil }
    channel.closeFuture.whenComplete { [weak self] _ in
      self?.state.withLock { _ = $0.places.removeValue(forKey: place.number) }
    }
    return place
  }

  func closeAll(of listener: any AnyObject & Sendable) {
    let places = state.withLock { state in
      state.places.values.filter { $0.listener === listener }
    }
    for place in places { place.channel.close(promise: nil) }
  }
}
