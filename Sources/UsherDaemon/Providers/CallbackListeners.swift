import NIOCore
import Synchronization
import UsherConfig
import UsherCore
import UsherFlows

/// The listeners for providers' callbacks. An address is open as long as a configured provider uses
/// it.
final class CallbackListeners: Sendable {
  /// The change of the listeners for a new configuration. New addresses accept no connection until
  /// the change is applied.
  struct Change: Sendable {
    fileprivate let endpoints: [LoopbackAddress: CallbackListener.Endpoint]
    fileprivate let new: [LoopbackAddress: CallbackListener]
  }

  /// The error for a callback address that cannot be bound, or that two providers use.
  struct ListenError: Error {
    let provider: ProviderName
    /// The error with a message for the operator.
    let error: UsherError
  }

  private let group: any EventLoopGroup
  private let service: CallbackService
  private let listeners = Mutex<[LoopbackAddress: CallbackListener]>([:])

  init(on group: any EventLoopGroup, _ service: CallbackService) {
    self.group = group
    self.service = service
  }

  /// Binds the addresses that a new configuration's providers need in addition to the open ones.
  ///
  /// - Throws: If an address cannot be bound, or is used twice; then no new address stays bound.
  func prepare(for providers: [ProviderConfig]) async throws(ListenError) -> Change {
    var endpoints: [LoopbackAddress: CallbackListener.Endpoint] = [:]
    var new: [LoopbackAddress: CallbackListener] = [:]
    do throws(ListenError) {
      for provider in providers {
        guard let dialect = provider.definition.callback else { continue }
        let address = dialect.address
        guard
          endpoints.updateValue(.init(dialect: dialect, provider: provider), forKey: address) == nil
        else { throw ListenError(provider, at: address, nil) }
        guard listeners.withLock({ $0[address] }) == nil else { continue }
        do {
          new[address] = try await .open(at: address, on: group, service)
        } catch {
          throw ListenError(provider, at: address, error)
        }
      }
    } catch {
      for listener in new.values { await listener.close() }
      throw error
    }
    return Change(endpoints: endpoints, new: new)
  }

  /// Applies a prepared change of the listening addresses for provider callbacks.
  ///
  /// - Returns: The listeners that no provider uses any more; the caller must close them.
  func apply(_ change: Change) -> [CallbackListener] {
    let (open, unused) = listeners.withLock { listeners in
      let unused = listeners.filter { change.endpoints[$0.key] == nil }
      listeners.merge(change.new) { _, new in new }
      for address in unused.keys { listeners[address] = nil }
      return (listeners, Array(unused.values))
    }
    for (address, listener) in open {
      if let endpoint = change.endpoints[address] { listener.serve(endpoint) }
    }
    return unused
  }

  func close() async {
    let all = listeners.withLock { exchange(&$0, with: [:]) }
    for listener in all.values { await listener.close() }
  }
}

extension CallbackListeners.ListenError {
  fileprivate init(_ provider: ProviderConfig, at address: LoopbackAddress, _ cause: (any Error)?) {
    self.provider = provider.name
    error = UsherError(
      .internalError,
      "cannot listen at \(address.settingText) for provider \(provider.name)'s callback",
      cause: cause)
  }
}
