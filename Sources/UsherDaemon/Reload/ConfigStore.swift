import Synchronization
import UsherConfig
import UsherCore

/// The current configuration: one immutable value, which a reload replaces as a whole.
final class ConfigStore: Sendable {
  private let state: Mutex<ConfigSnapshot>
  private let number = Atomic<Int>(0)
  private let observers = Mutex<[Observation]>([])

  private struct Observation {
    weak var observer: (any ProviderObserver)?
  }

  init(_ config: Config, _ policy: Policy) {
    state = Mutex(ConfigSnapshot(config, policy, [:], generation: 0))
  }

  var current: ConfigSnapshot { state.withLock { $0 } }

  /// A number that changes with every reload. Reading it costs one atomic read, so that data cached
  /// from ``current`` can be checked on every call.
  var generation: Int { number.load(ordering: .acquiring) }

  func replace(by config: Config, _ policy: Policy) {
    replace { ConfigSnapshot(config, policy, $0.clients, generation: $0.generation + 1) }
  }

  /// Replaces the clients as which the daemon has registered itself at providers.
  func replaceClients(by clients: [ProviderName: RegisteredClient]) {
    replace { ConfigSnapshot($0.written, $0.policy, clients, generation: $0.generation + 1) }
  }

  private func replace(_ next: (ConfigSnapshot) -> ConfigSnapshot) {
    state.withLock { current in
      current = next(current)
      number.store(current.generation, ordering: .releasing)
    }
  }
}

extension ConfigStore {
  /// Registers an observer of changes, which is held weakly.
  func register(_ observer: any ProviderObserver) {
    observers.withLock { observers in
      observers.removeAll { $0.observer == nil }
      observers.append(Observation(observer: observer))
    }
  }

  /// Notifies the observers, one by one in the order of registration, and waits for each.
  func notify(_ changed: Set<ProviderName>) async {
    let observers = observers.withLock { $0.compactMap(\.observer) }
    for observer in observers { await observer.providersChanged(changed) }
  }
}

/// A cache of data about providers, which drops the data when the providers' configuration or
/// credentials change.
protocol ProviderObserver: AnyObject, Sendable {
  /// Called after settings or credentials of providers have changed; the new ones already apply.
  func providersChanged(_ changed: Set<ProviderName>) async
}

/// One version of the configuration with the values derived from it.
final class ConfigSnapshot: Sendable {
  /// The configuration, in which providers without a `client_id` have the registered client.
  let config: Config
  let policy: Policy
  let generation: Int
  /// The configuration as it is in the files.
  fileprivate let written: Config
  /// The clients as which the daemon has registered itself.
  let clients: [ProviderName: RegisteredClient]
  private let providers: [ProviderName: ProviderConfig]
  private let tokenPlaces: [ProviderName: TokenPlace]

  fileprivate init(
    _ written: Config, _ policy: Policy, _ clients: [ProviderName: RegisteredClient],
    generation: Int
  ) {
    let config = written.completed(by: clients)
    self.config = config
    self.written = written
    self.clients = clients
    self.policy = policy
    self.generation = generation
    providers = Dictionary((config.providers + [.local]).map { ($0.name, $0) }) { first, _ in first
    }
    tokenPlaces = providers.mapValues(\.tokenPlace)
  }

  /// Returns the configured provider of this name, or the daemon's own provider `local`.
  func provider(_ name: ProviderName) -> ProviderConfig? { providers[name] }

  /// Returns the provider as it is in the files: without the client as which the daemon has
  /// registered itself.
  func writtenProvider(_ name: ProviderName) -> ProviderConfig? {
    written.providers.first { $0.name == name }
  }

  /// Returns the `tokenPlace` of ``provider(_:)``, computed in advance because every call reads it.
  func tokenPlace(of name: ProviderName) -> TokenPlace? { tokenPlaces[name] }
}
