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

  private struct Held {
    let token: Secret
    let goodUntil: Timestamp
  }

  /// The token of one provider configuration. A live flow keeps its configuration over a reload, so
  /// several configurations of the same name can be in use.
  private struct Holder {
    let provider: ProviderConfig
    let number: Int
    var held: Held?
    var asking: Task<Result<Secret, Unavailable>, Never>?
  }

  private struct State {
    var next = 0
    var holders: [ProviderName: [Holder]] = [:]

    /// Returns the index of the holder for a provider configuration; adds a missing holder.
    mutating func place(of provider: ProviderConfig) -> Int {
      let holders = holders[provider.name, default: []]
      if let place = holders.firstIndex(where: { $0.provider == provider }) { return place }
      next += 1
      self.holders[provider.name] = holders + [Holder(provider: provider, number: next)]
      return holders.count
    }
  }

  private let dependencies: Dependencies
  private let state = Mutex(State())

  init(dependencies: Dependencies) { self.dependencies = dependencies }

  /// Returns a valid token; requests one from the provider if needed.
  ///
  /// - Parameters:
  ///   - refused: A token that the provider has rejected; it is not returned again.
  ///   - ask: Sends the request to the provider.
  func token(
    for provider: ProviderConfig, by call: any ClientTokenCall, otherThan refused: Secret? = nil,
    ask: @escaping @Sendable (any ClientTokenCall) async -> CallOutcome
  ) async -> Result<Secret, Unavailable> {
    enum Way {
      case held(Secret)
      case asking(Task<Result<Secret, Unavailable>, Never>)
    }
    let way: Way = state.withLock { state in
      let place = state.place(of: provider)
      let holder = state.holders[provider.name, default: []][place]
      if let held = holder.held, held.goodUntil > dependencies.clock.monotonicNow(),
        held.token != refused
      {
        return .held(held.token)
      }
      if let task = holder.asking { return .asking(task) }
      let task = Task(executorPreference: dependencies.executor) {
        await self.fetch(provider.name, holder.number, call, ask)
      }
      state.holders[provider.name]?[place].asking = task
      return .asking(task)
    }
    switch way {
    case .held(let token): return .success(token)
    case .asking(let task): return await task.value
    }
  }

  /// Forgets the tokens of providers whose configuration or credentials changed. Calls that wait
  /// for a request in progress still get its token.
  func forget(_ providers: Set<ProviderName>) {
    state.withLock { state in for provider in providers { state.holders[provider] = nil } }
  }

  private func fetch(
    _ provider: ProviderName, _ number: Int, _ call: any ClientTokenCall,
    _ ask: @Sendable (any ClientTokenCall) async -> CallOutcome
  ) async -> Result<Secret, Unavailable> {
    let outcome = await ask(call)
    let result = Self.read(outcome, call)
    state.withLock { state in
      // If the holder was removed during the request, the request used a configuration or
      // credential that has been replaced, so its token is not cached.
      guard let place = state.holders[provider]?.firstIndex(where: { $0.number == number })
      else { return }
      state.holders[provider]?[place].asking = nil
      state.holders[provider]?[place].held =
        switch result {
        case .success(let (token, lifetime)):
          Held(
            token: token, goodUntil: dependencies.clock.monotonicNow() + lifetime - Self.validity)
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
