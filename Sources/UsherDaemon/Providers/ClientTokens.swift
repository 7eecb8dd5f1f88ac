import Synchronization
import UsherConfig
import UsherCore
import UsherFlows

/// The tokens that providers gave the daemon itself: asked for once however many calls want one, and
/// kept in memory until a minute before their end.
final class ClientTokens: Sendable {
  /// Seconds a token must still be good for a call to be made with it.
  static let validity = Duration.seconds(60)

  /// Why there is none: what stands for the outcome of the call that wanted it.
  struct Unavailable: Error {
    let outcome: CallOutcome
  }

  private struct Held {
    let token: Secret
    let goodUntil: Timestamp
  }

  /// Another provider of the same name has tokens of its own: a flow that is live keeps its own
  /// over a reload.
  private struct Holder {
    let provider: ProviderConfig
    let number: Int
    var held: Held?
    var asking: Task<Result<Secret, Unavailable>, Never>?
  }

  private struct State {
    var next = 0
    var holders: [ProviderName: [Holder]] = [:]

    /// Where a provider's tokens are kept.
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

  /// - Parameters:
  ///   - refused: A token that the provider did not take: it is not given again.
  ///   - ask: Asks the provider.
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

  /// What is being asked for is still given to who waits for it.
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
      // Forgotten meanwhile: it was asked for with what holds no more.
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
