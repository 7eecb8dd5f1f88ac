import NIOCore
import Synchronization
import UsherConfig
import UsherCore
import UsherFlows

/// The addresses at which providers call, each open for as long as a provider is configured with it.
final class CallbackPosts: Sendable {
  /// What a reload makes of them; until it is done, nobody is heard at what is new.
  struct Change: Sendable {
    fileprivate let posts: [LoopbackAddress: CallbackListener.Post]
    fileprivate let new: [LoopbackAddress: CallbackListener]
  }

  /// An address cannot be had.
  struct ListenError: Error {
    let provider: ProviderName
    /// With a sentence for the operator.
    let error: UsherError
  }

  private let group: any EventLoopGroup
  private let service: CallbackService
  private let listeners = Mutex<[LoopbackAddress: CallbackListener]>([:])

  init(on group: any EventLoopGroup, _ service: CallbackService) {
    self.group = group
    self.service = service
  }

  /// Takes the addresses that are needed beside those there are.
  ///
  /// - Throws: Where one cannot be had; then none is taken.
  func prepare(for providers: [ProviderConfig]) async throws(ListenError) -> Change {
    var posts: [LoopbackAddress: CallbackListener.Post] = [:]
    var new: [LoopbackAddress: CallbackListener] = [:]
    do throws(ListenError) {
      for provider in providers {
        guard let dialect = ProviderRegistry.callback(of: provider) else { continue }
        let address = dialect.address
        guard posts.updateValue(.init(dialect: dialect, provider: provider), forKey: address) == nil
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
    return Change(posts: posts, new: new)
  }

  /// - Returns: The listeners that nobody needs any more; still open.
  func make(_ change: Change) -> [CallbackListener] {
    let (open, unused) = listeners.withLock { listeners in
      let unused = listeners.filter { change.posts[$0.key] == nil }
      listeners.merge(change.new) { _, new in new }
      for address in unused.keys { listeners[address] = nil }
      return (listeners, Array(unused.values))
    }
    for (address, listener) in open {
      if let post = change.posts[address] { listener.serve(post) }
    }
    return unused
  }

  /// Gives up what was prepared.
  func drop(_ change: Change) async { for listener in change.new.values { await listener.close() } }

  func close() async {
    let all = listeners.withLock { listeners in
      defer { listeners = [:] }
      return Array(listeners.values)
    }
    for listener in all { await listener.close() }
  }
}

extension CallbackPosts.ListenError {
  fileprivate init(
    _ provider: ProviderConfig, at address: LoopbackAddress, _ cause: (any Error)?
  ) {
    self.provider = provider.name
    error = UsherError(
      .internalError,
      "cannot listen at \(address.settingText) for provider \(provider.name)'s callback",
      cause: cause)
  }
}
