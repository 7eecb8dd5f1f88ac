import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// How the providers answered last, and how long refreshes hold off after failures.
///
/// Refreshes hold off only for what their token endpoint did. An account whose own refresh has failed
/// goes by its own back-off, whatever happens to others. Every other account is held up once: while
/// nobody can connect to the endpoint, or for seconds after a failure that may be about one request.
final class ProviderHealth: ProviderObserver {
  fileprivate struct Pause {
    var failures: Int
    let notBefore: Timestamp

    /// What is left of it; nil where it is over.
    func rest(at now: Timestamp) -> Duration? {
      // A clock that was set back must not make an hour of a day.
      guard notBefore > now, notBefore - now <= ProviderHealth.longestPause else { return nil }
      return notBefore - now
    }
  }

  fileprivate struct Record {
    var health: SystemStatus.Health?
    /// Of the token endpoint, for accounts without a pause of their own.
    var shared: Pause?
    var own: [AccountID: Pause] = [:]
  }

  /// The most a provider may ask for.
  fileprivate static let longestPause = Duration.seconds(3600)
  /// The most that a failure which may be about one account's call holds other accounts up.
  private static let longestSharedAnswer = Duration.seconds(5)
  /// Accounts of a provider whose pauses are kept; beyond it those that are over go.
  fileprivate static let keptPauses = 4096

  private let records = Mutex<[ProviderName: Record]>([:])
  private let configStore: ConfigStore?
  private let onChange: @Sendable (ProviderName, SystemStatus.Health) -> Void

  /// - Parameter settings: The configuration in force; nil: outcomes of any provider count.
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

  /// They are asked anew, without a pause.
  func providersChanged(_ providers: Set<ProviderName>) {
    records.withLock { records in for provider in providers { records[provider] = nil } }
  }

  /// How long a refresh should hold off that has no back-off of its own; nil when it may go.
  func pause(for provider: ProviderName, at now: Timestamp) -> Duration? {
    records.withLock { $0[provider]?.shared?.rest(at: now) }
  }

  /// How long the account's refresh should hold off; nil when it may go.
  ///
  /// Being held up by others becomes the account's own pause. Once that is over its refresh goes,
  /// however often the refreshes of others have failed meanwhile.
  func pause(
    for provider: ProviderName, _ account: AccountID, at now: Timestamp
  ) -> Duration? {
    records.withLock { records in
      guard let record = records[provider] else { return nil }
      if let own = record.own[account] { return own.rest(at: now) }
      guard let shared = record.shared, let rest = shared.rest(at: now) else { return nil }
      records[provider]?.keep(Pause(failures: 0, notBefore: shared.notBefore), account, now)
      return rest
    }
  }

  /// Records the outcome of an account's refresh for the account alone.
  func note(
    _ outcome: CallOutcome, ofRefresh account: AccountID, of provider: ProviderConfig,
    at now: Timestamp
  ) {
    records.withLock { records in
      guard isCurrent(provider) else { return }
      let failures = records[provider.name]?.own[account]?.failures ?? 0
      let pause = outcome.pauseAsked(after: failures).map {
        Pause(failures: min(failures + 1, 16), notBefore: now + $0)
      }
      records[provider.name, default: Record()].keep(pause, account, now)
    }
  }

  /// Records a call's outcome for all accounts. The outcome of a call to another provider that had the
  /// name before is ignored.
  func note(
    _ outcome: CallOutcome, of provider: ProviderConfig, by endpoint: ProviderEndpoint = .token,
    at now: Timestamp
  ) {
    let (before, after) = records.withLock { records in
      let before = records[provider.name]?.health
      // Here, so that a reload that comes now forgets it afterwards.
      guard isCurrent(provider) else { return (before, before) }
      var record = records[provider.name] ?? Record()
      record.health = outcome.pauseAsked(after: 0) == nil ? .ok : .failing
      if endpoint == .token { record.shared = Self.shared(record.shared, outcome, now) }
      records[provider.name] = record
      return (before, record.health)
    }
    if let after, after != before { onChange(provider.name, after) }
  }

  /// One, two, four … up to sixty seconds while no connection to the endpoint is made.
  private static func shared(
    _ before: Pause?, _ outcome: CallOutcome, _ now: Timestamp
  ) -> Pause? {
    let failures = before?.failures ?? 0
    guard let asked = outcome.pauseAsked(after: failures) else { return nil }
    let pause = outcome.mayBeAboutOneCall ? min(asked, longestSharedAnswer) : asked
    return Pause(failures: min(failures + 1, 16), notBefore: now + pause)
  }

  private func isCurrent(_ provider: ProviderConfig) -> Bool {
    configStore.map { $0.current.provider(provider.name) == provider } ?? true
  }
}

extension ProviderHealth.Record {
  fileprivate mutating func keep(
    _ pause: ProviderHealth.Pause?, _ account: AccountID, _ now: Timestamp
  ) {
    if own.count >= ProviderHealth.keptPauses { own = own.filter { $0.value.notBefore > now } }
    own[account] = pause
  }
}

extension CallOutcome {
  /// Whether other calls may fare better. A connection that ends after the request was sent counts:
  /// a firewall of the provider's resets those whose request it does not like.
  fileprivate var mayBeAboutOneCall: Bool {
    switch self {
    case .reply, .unreadable, .unreachable(_, sent: true): true
    case .unreachable(_, sent: false), .noToken: false
    }
  }

  fileprivate func pauseAsked(after failures: Int) -> Duration? {
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
