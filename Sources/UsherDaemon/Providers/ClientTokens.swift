import Synchronization
import UsherConfig
import UsherCore
import UsherFlows

/// The access tokens that providers issue to the daemon itself as an OAuth client. Concurrent calls
/// share one token request; a token is kept in memory until a minute before its expiry.
final class ClientTokens: Sendable {
  /// How long a cached token must still be valid to be used for another call.
  static let validity = Duration.seconds(60)

  /// The error if the daemon's own token for a provider call could not be obtained.
  struct Unavailable: Error {
    /// The outcome to report for the provider call that needed the token.
    let outcome: CallOutcome
  }

  private struct CachedToken {
    let token: Secret
    let usableUntil: Timestamp
  }

  /// The token of one provider configuration. A live flow keeps its configuration over a reload, so
  /// several configurations of the same name can be in use.
  private struct Entry {
    let provider: ProviderConfig
    let number: Int
    var cached: CachedToken?
    var pending: Task<Result<Secret, Unavailable>, Never>?
  }

  private struct State {
    var next = 0
    var entries: [ProviderName: [Entry]] = [:]

    /// Returns the index of the holder for a provider configuration; adds a missing holder.
    mutating func index(of provider: ProviderConfig) -> Int {
      let entries = entries[provider.name, default: []]
      if let index = entries.firstIndex(where: { $0.provider == provider }) { return index }
      next += 1
      self.entries[provider.name] = entries + [Entry(provider: provider, number: next)]
      return entries.count
    }
  }

  private let dependencies: Dependencies
  private let state = Mutex(State())

  init(dependencies: Dependencies) { self.dependencies = dependencies }

  /// Returns a valid token; requests one from the provider if needed.
  ///
  /// - Parameters:
  ///   - refused: A token that the provider has rejected; it is not returned again.
  ///   - send: Sends the request to the provider.
  func token(
    for provider: ProviderConfig, by call: any ClientTokenCall, otherThan refused: Secret? = nil,
    send: @escaping @Sendable (any ClientTokenCall) async -> CallOutcome
  ) async -> Result<Secret, Unavailable> {
    enum Lookup {
      case cached(Secret)
      case pending(Task<Result<Secret, Unavailable>, Never>)
    }
    let lookup: Lookup = state.withLock { state in
      let index = state.index(of: provider)
      let entry = state.entries[provider.name, default: []][index]
      if let cached = entry.cached, cached.usableUntil > dependencies.clock.monotonicNow(),
        cached.token != refused
      {
        return .cached(cached.token)
      }
      if let task = entry.pending { return .pending(task) }
      let task = Task(executorPreference: dependencies.executor) {
        await self.fetch(provider.name, entry.number, call, send)
      }
      state.entries[provider.name]?[index].pending = task
      return .pending(task)
    }
    switch lookup {
    case .cached(let token): return .success(token)
    case .pending(let task): return await task.value
    }
  }

  /// Removes the tokens of providers whose configuration or credentials changed. Calls that wait
  /// for a request in progress still get its token.
  func removeTokens(of providers: Set<ProviderName>) {
    state.withLock { state in for provider in providers { state.entries[provider] = nil } }
  }

  private func fetch(
    _ provider: ProviderName, _ number: Int, _ call: any ClientTokenCall,
    _ send: @Sendable (any ClientTokenCall) async -> CallOutcome
  ) async -> Result<Secret, Unavailable> {
    let outcome = await send(call)
    let result = Self.read(outcome, call)
    state.withLock { state in
      // If the holder was removed during the request, the request used a configuration or
      // credential that has been replaced, so its token is not cached.
      guard let index = state.entries[provider]?.firstIndex(where: { $0.number == number })
      else { return }
      state.entries[provider]?[index].pending = nil
      state.entries[provider]?[index].cached =
        switch result {
        case .success(let (token, lifetime)):
          CachedToken(
            token: token, usableUntil: dependencies.clock.monotonicNow() + lifetime - Self.validity)
        case .failure: nil
        }
    }
    return result.map(\.0)
  }

  private static func read(
    _ outcome: CallOutcome, _ call: any ClientTokenCall
  ) -> Result<(Secret, Duration), Unavailable> {
    guard case .reply(let reply) = outcome else { return .failure(Unavailable(outcome: outcome)) }
    return switch call.read(reply) {
    case .granted(let token, let lifetime): .success((token, lifetime))
    case .refused: .failure(Unavailable(outcome: outcome))
    case .unreadable(let message): .failure(Unavailable(outcome: .unreadable(message: message)))
    }
  }
}
