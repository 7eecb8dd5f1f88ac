import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// How the providers answered last, and how long to leave one alone that does not answer.
final class ProviderHealth: Sendable {
  private struct Record {
    var failures = 0
    var notBefore: Timestamp?

    var health: SystemStatus.Health { failures == 0 ? .ok : .failing }
  }

  /// The most a provider may ask for.
  fileprivate static let longestPause = Duration.seconds(3600)

  private let records = Mutex<[ProviderName: Record]>([:])
  private let settings: Settings?
  private let onChange: @Sendable (ProviderName, SystemStatus.Health) -> Void

  /// - Parameter settings: What they are configured by; nil: whoever is heard of counts.
  init(
    _ settings: Settings? = nil,
    onChange: @escaping @Sendable (ProviderName, SystemStatus.Health) -> Void
  ) {
    self.settings = settings
    self.onChange = onChange
  }

  func health(of provider: ProviderName) -> SystemStatus.Health {
    records.withLock { $0[provider]?.health } ?? .unknown
  }

  /// They are asked anew, without a pause.
  func forget(_ providers: Set<ProviderName>) {
    records.withLock { records in for provider in providers { records[provider] = nil } }
  }

  /// How long calls that nobody waits at a page for should hold off; nil when they may go.
  func pause(for provider: ProviderName, at now: Timestamp) -> Duration? {
    guard let notBefore = records.withLock({ $0[provider]?.notBefore }), notBefore > now else {
      return nil
    }
    let pause = notBefore - now
    // A clock that was set back must not make an hour of a day.
    return pause <= Self.longestPause ? pause : nil
  }

  /// One, two, four … up to sixty seconds, or what the provider asked for. What is heard of another
  /// one that had the name before says nothing of this one.
  func note(_ outcome: CallOutcome, of provider: ProviderConfig, at now: Timestamp) {
    let (before, after) = records.withLock { records in
      let before = records[provider.name]?.health
      // Here, so that a reload that comes now forgets it afterwards.
      if let settings, settings.inForce.provider(provider.name) != provider {
        return (before, before)
      }
      var record = records[provider.name] ?? Record()
      if let delay = outcome.pauseAsked(after: record.failures) {
        record.failures = min(record.failures + 1, 16)
        record.notBefore = now + delay
      } else {
        record = Record()
      }
      records[provider.name] = record
      return (before, record.health)
    }
    if let after, after != before { onChange(provider.name, after) }
  }
}

extension CallOutcome {
  fileprivate func pauseAsked(after failures: Int) -> Duration? {
    let backOff = Duration.seconds(min(60, 1 << min(failures, 6)))
    switch self {
    case .unreachable, .unreadable: return backOff
    case .noToken: return nil
    case .reply(let reply):
      guard reply.status >= 500 || reply.status == 429 else { return nil }
      let asked = reply.headers["retry-after"].flatMap { Int($0) }
      return asked.map { min(.seconds(max($0, 1)), ProviderHealth.longestPause) } ?? backOff
    }
  }
}
