import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// The outcomes of the last calls to providers, and the pauses between refreshes after failures.
///
/// Refreshes pause only after failures of the token endpoint. An account whose own refresh has
/// failed has its own pause. Every other account waits at most once: while no connection to the
/// endpoint can be made, or for a few seconds after a failure that may concern only one request.
final class ProviderHealth: ProviderObserver {
  fileprivate struct Pause {
    var failures: Int
    let notBefore: Timestamp

    /// Returns the remaining pause; nil if the pause is over.
    func remaining(at now: Timestamp) -> Duration? {
      // A pause above the limit means that the clock was set back, so the pause is dropped.
      guard notBefore > now, notBefore - now <= ProviderHealth.maxPause else { return nil }
      return notBefore - now
    }
  }

  fileprivate struct Record {
    var health: SystemStatus.Health?
    /// The pause of the token endpoint, for accounts without a pause of their own.
    var shared: Pause?
    var perAccount: [AccountID: Pause] = [:]
  }

  /// The longest pause that the `Retry-After` of a reply can cause.
  fileprivate static let maxPause = Duration.seconds(3600)
  /// The maximum pause of other accounts after a failure that may concern only one account.
  private static let maxSharedPauseAfterReply = Duration.seconds(5)
  /// The number of account pauses for each provider above which expired pauses are removed.
  fileprivate static let maxPauses = 4096

  private let records = Mutex<[ProviderName: Record]>([:])
  private let configStore: ConfigStore?
  private let onChange: @Sendable (ProviderName, SystemStatus.Health) -> Void

  /// - Parameter configStore: The current configuration, by which outcomes of replaced providers
  ///   are ignored; nil: the outcomes of all providers count.
  init(
    _ configStore: ConfigStore? = nil,
    onChange: @escaping @Sendable (ProviderName, SystemStatus.Health) -> Void
  ) {
    self.configStore = configStore
    self.onChange = onChange
    configStore?.register(self)
  }

  func health(of provider: ProviderName) -> SystemStatus.Health {
    records.withLock { $0[provider]?.health } ?? .unknown
  }

  /// Forgets the outcomes of reconfigured providers, so that they are called without a pause.
  func providersChanged(_ providers: Set<ProviderName>) {
    records.withLock { records in for provider in providers { records[provider] = nil } }
  }

  /// Returns the remaining pause for accounts without a pause of their own; nil if there is none.
  func pause(for provider: ProviderName, at now: Timestamp) -> Duration? {
    records.withLock { $0[provider]?.shared?.remaining(at: now) }
  }

  /// Returns the remaining pause before the account's next refresh; nil if there is none.
  ///
  /// The shared pause becomes the account's own. After it the account's refresh is sent, even if
  /// refreshes of other accounts have failed in the meantime.
  func pause(for provider: ProviderName, _ account: AccountID, at now: Timestamp) -> Duration? {
    records.withLock { records in
      guard let record = records[provider] else { return nil }
      if let own = record.perAccount[account] { return own.remaining(at: now) }
      guard let shared = record.shared, let remaining = shared.remaining(at: now) else {
        return nil
      }
      records[provider]?.insert(Pause(failures: 0, notBefore: shared.notBefore), account, now)
      return remaining
    }
  }

  /// Records the outcome of an account's refresh, for the pauses of that account only.
  func record(
    _ outcome: CallOutcome, ofRefresh account: AccountID, of provider: ProviderConfig,
    at now: Timestamp
  ) {
    records.withLock { records in
      guard isCurrent(provider) else { return }
      let failures = records[provider.name]?.perAccount[account]?.failures ?? 0
      let pause = outcome.requestedPause(after: failures).map {
        Pause(failures: min(failures + 1, 16), notBefore: now + $0)
      }
      records[provider.name, default: Record()].insert(pause, account, now)
    }
  }

  /// Records the outcome of a call for all accounts. Ignores a provider that has been replaced by
  /// another one of the same name.
  func record(
    _ outcome: CallOutcome, of provider: ProviderConfig, by endpoint: ProviderEndpoint = .token,
    at now: Timestamp
  ) {
    let (before, after) = records.withLock { records in
      let before = records[provider.name]?.health
      // Checked under the lock, so that a concurrent reload clears this outcome afterwards.
      guard isCurrent(provider) else { return (before, before) }
      var record = records[provider.name] ?? Record()
      record.health = outcome.requestedPause(after: 0) == nil ? .ok : .failing
      if endpoint == .token { record.shared = Self.shared(record.shared, outcome, now) }
      records[provider.name] = record
      return (before, record.health)
    }
    if let after, after != before { onChange(provider.name, after) }
  }

  /// Returns the pause of the token endpoint after an outcome: 1, 2, 4 … up to 60 seconds while no
  /// connection to the endpoint can be made, and less if the outcome may concern only one call.
  private static func shared(_ before: Pause?, _ outcome: CallOutcome, _ now: Timestamp) -> Pause? {
    let failures = before?.failures ?? 0
    guard let requested = outcome.requestedPause(after: failures) else { return nil }
    let pause = outcome.mayConcernOneCall ? min(requested, maxSharedPauseAfterReply) : requested
    return Pause(failures: min(failures + 1, 16), notBefore: now + pause)
  }

  private func isCurrent(_ provider: ProviderConfig) -> Bool {
    configStore.map { $0.current.provider(provider.name) == provider } ?? true
  }
}

extension ProviderHealth.Record {
  fileprivate mutating func insert(
    _ pause: ProviderHealth.Pause?, _ account: AccountID, _ now: Timestamp
  ) {
    if perAccount.count >= ProviderHealth.maxPauses {
      perAccount = perAccount.filter { $0.value.notBefore > now }
    }
    perAccount[account] = pause
  }
}

extension CallOutcome {
  /// Whether the outcome may concern only this call, so that others may succeed. True also for a
  /// connection that ends after the request was sent, because a provider's firewall may reset a
  /// connection whose request it rejects.
  fileprivate var mayConcernOneCall: Bool {
    switch self {
    case .reply, .unreadable, .unreachable(_, sent: true): true
    case .unreachable(_, sent: false), .noToken: false
    }
  }

  fileprivate func requestedPause(after failures: Int) -> Duration? {
    let backOff = Duration.seconds(min(60, 1 << min(failures, 6)))
    switch self {
    case .unreachable, .unreadable: return backOff
    case .noToken: return nil
    case .reply(let reply):
      guard reply.status >= 500 || reply.status == 429 else { return nil }
      return reply.retryAfter.map { max($0, .seconds(1)) } ?? backOff
    }
  }
}
