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

  private struct State {
    var held: [ProviderName: Held] = [:]
    var asking: [ProviderName: Task<Result<Secret, Unavailable>, Never>] = [:]
  }

  private let clock: any Clock
  private let state = Mutex(State())

  init(clock: any Clock) { self.clock = clock }

  /// - Parameters:
  ///   - refused: A token that the provider did not take: it is not given again.
  ///   - ask: Asks the provider.
  func token(
    for provider: ProviderName, by call: any ClientTokenCall, otherThan refused: Secret? = nil,
    ask: @escaping @Sendable (any ClientTokenCall) async -> CallOutcome
  ) async -> Result<Secret, Unavailable> {
    enum Way {
      case held(Secret)
      case asking(Task<Result<Secret, Unavailable>, Never>)
    }
    let way: Way = state.withLock { state in
      if let held = state.held[provider], held.goodUntil > clock.now(), held.token != refused {
        return .held(held.token)
      }
      if let task = state.asking[provider] { return .asking(task) }
      let task = Task { await self.fetch(provider, call, ask) }
      state.asking[provider] = task
      return .asking(task)
    }
    switch way {
    case .held(let token): return .success(token)
    case .asking(let task): return await task.value
    }
  }

  private func fetch(
    _ provider: ProviderName, _ call: any ClientTokenCall,
    _ ask: @Sendable (any ClientTokenCall) async -> CallOutcome
  ) async -> Result<Secret, Unavailable> {
    let outcome = await ask(call)
    let result = Self.read(outcome, call)
    state.withLock { state in
      state.asking[provider] = nil
      state.held[provider] =
        switch result {
        case .success(let (token, lifetime)):
          Held(token: token, goodUntil: clock.now() + lifetime - Self.validity)
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
