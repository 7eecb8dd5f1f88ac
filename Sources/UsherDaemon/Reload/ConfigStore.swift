import Synchronization
import UsherConfig
import UsherCore

/// What is in force of the configuration: one value, exchanged whole by a reload.
final class ConfigStore: Sendable {
  private let state: Mutex<ConfigSnapshot>
  private let number = Atomic<Int>(0)
  private let observers = Mutex<[Observation]>([])

  private struct Observation {
    weak var observer: (any ProviderObserver)?
  }

  init(_ config: Config, _ policy: Policy) {
    state = Mutex(ConfigSnapshot(config, policy, generation: 0))
  }

  var current: ConfigSnapshot { state.withLock { $0 } }

  /// Another number whenever something else came into force. Costs one atomic read, for what is
  /// kept of ``current`` and looked at with every call.
  var generation: Int { number.load(ordering: .acquiring) }

  func replace(by config: Config, _ policy: Policy) {
    state.withLock { current in
      current = ConfigSnapshot(config, policy, generation: current.generation + 1)
      number.store(current.generation, ordering: .releasing)
    }
  }
}

extension ConfigStore {
  /// Has an observer told of changes as long as it exists.
  func register(_ observer: any ProviderObserver) {
    observers.withLock { observers in
      observers.removeAll { $0.observer == nil }
      observers.append(Observation(observer: observer))
    }
  }

  /// Tells the observers, in the order in which they registered, and returns when all have reacted.
  func notify(_ changed: Set<ProviderName>) async {
    let observers = observers.withLock { $0.compactMap(\.observer) }
    for observer in observers { await observer.providersChanged(changed) }
  }
}

/// Keeps something that it learnt about providers, and drops it when they change.
protocol ProviderObserver: AnyObject, Sendable {
  /// The settings or credentials of providers changed, and the new ones are in force.
  func providersChanged(_ changed: Set<ProviderName>) async
}

/// One configuration, with what was made of it.
final class ConfigSnapshot: Sendable {
  let config: Config
  let policy: Policy
  let generation: Int
  private let providers: [ProviderName: ProviderConfig]
  private let tokenPlaces: [ProviderName: TokenPlace]

  fileprivate init(_ config: Config, _ policy: Policy, generation: Int) {
    self.config = config
    self.policy = policy
    self.generation = generation
    providers = Dictionary((config.providers + [.local]).map { ($0.name, $0) }) { first, _ in first
    }
    tokenPlaces = providers.mapValues(\.tokenPlace)
  }

  /// A configured one, or the daemon's own.
  func provider(_ name: ProviderName) -> ProviderConfig? { providers[name] }

  /// The `tokenPlace` of ``provider(_:)``: worked out once, for every call looks at it.
  func tokenPlace(of name: ProviderName) -> TokenPlace? { tokenPlaces[name] }
}
