import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherSystem

/// A reload of the configuration and the credentials. It applies either all of them or nothing
/// (Service.md, "Reloading").
struct Reload: Sendable {
  let lockController: LockController

  private var processContext: ProcessContext { lockController.processContext }

  /// Reloads, and returns when the new configuration applies or has been rejected.
  ///
  /// - Returns: The problems because of which it was rejected; empty if it applies.
  /// - Throws: `shuttingDown`.
  @discardableResult
  func run() async throws(UsherError) -> [ConfigProblem] {
    try await processContext.reloads.withLock(.next) { () throws(UsherError) in
      let notifier = processContext.setting.notifier
      notifier.reloading()
      // Reading files and looking up names may take long, so it is done before the lock is taken
      // for which locking or stopping the daemon would wait.
      let read = await read()
      return try await lockController.withLockState { services throws(UsherError) in
        var problems: [ConfigProblem] = []
        do throws(ConfigError) {
          try await change(to: try read.get(), services)
        } catch {
          problems = error.problems
          log(problems)
        }
        processContext.lastReload.ended(problems: problems.count)
        notifier.ready(status: lockController.status)
        return problems
      }
    }
  }

  /// The key of the lock by which reloads run one at a time.
  enum LockKey { case next }

  private typealias Candidate = (config: Config, policy: Policy)

  /// - Parameter services: Nil while the daemon is locked.
  private func change(
    to candidate: Candidate, _ services: Services?
  ) async throws(ConfigError) {
    let (config, policy) = (candidate.config, candidate.policy)
    let before = processContext.dependencies.configStore.current
    let others = config.completed(by: before.clients).providers(otherThanIn: before.config)
    let exchange: @Sendable () -> Set<ProviderName> = { [processContext] in
      processContext.dependencies.configStore.replace(by: config, policy)
      processContext.setting.applyLogSettings(config.log)
      return others
    }
    let changed: Set<ProviderName>
    if let services {
      changed = await services.apply(try await services.prepare(for: config), exchange: exchange)
    } else {
      changed = await processContext.betweenCalls(exchange)
    }
    processContext.log.notice(
      "reloaded",
      metadata: config.places.merging([
        "providers": "\(config.providers.count)", "clients": "\(config.clients.count)",
        "providersChanged": "\(changed.count)",
      ]) { $1 })
    config.logWarnings(to: processContext.log)
  }

  private func read() async -> Result<Candidate, ConfigError> {
    await processContext.dependencies.blocking.run { [setting = processContext.setting] in
      Result { () throws(ConfigError) in
        let config = try setting.reread()
        let fixed = setting.problems(with: config)
        guard fixed.isEmpty else { throw ConfigError(fixed) }
        return (config: config, policy: try setting.policy(of: config))
      }
    }
  }

  private func log(_ problems: [ConfigProblem]) {
    processContext.log.warning(
      "the reload failed; the configuration has not changed",
      metadata: ["problems": "\(problems.count)"])
    for problem in problems.prefix(SystemReload.Reply.maxReported) {
      problem.log(to: processContext.log)
    }
  }
}

/// The outcome of the last reload, for the status line of `systemctl status`.
final class LastReload: Sendable {
  private let problems = Mutex(0)

  func ended(problems count: Int) { problems.withLock { $0 = count } }

  /// The text to append to the daemon's line in `systemctl status`; empty if the last reload had no
  /// problems.
  var statusSuffix: String {
    switch problems.withLock({ $0 }) {
    case 0: ""
    case 1: "; the last reload failed: 1 problem, see the journal"
    case let count: "; the last reload failed: \(count) problems, see the journal"
    }
  }
}

extension LockController {
  /// The daemon's status line in `systemctl status`.
  var status: String {
    let count = processContext.dependencies.config.providers.count
    let served = count == 1 ? "Serving 1 provider" : "Serving \(count) providers"
    return (unlocked == nil ? "Locked" : served) + processContext.lastReload.statusSuffix
  }
}

extension DaemonSetting {
  /// Returns a problem for each changed setting that takes effect only when the daemon is
  /// restarted.
  fileprivate func problems(with config: Config) -> [ConfigProblem] {
    guard config.store.url != self.config.store.url else { return [] }
    return [
      config.problem(
        "store.url",
        "cannot be changed from \"\(self.config.store.url.settingText)\" while usherd runs; "
          + "stop usherd first")
    ]
  }
}

extension ConfigProblem {
  fileprivate func log(to log: Logger) {
    log.warning(
      "\(message)", metadata: ["file": .string(file), "line": "\(line)", "key": .string(key)])
  }
}

extension Config {
  /// Logs the settings that have no effect.
  func logWarnings(to log: Logger) {
    for warning in warnings.prefix(SystemReload.Reply.maxReported) { warning.log(to: log) }
  }

  /// The configuration files in use, as metadata of a log entry.
  var places: Logger.Metadata {
    let files = sources.files.joined(separator: " ")
    return ["files": .string(files.isEmpty ? "none: the defaults apply" : files)]
  }

  /// Returns the names of the providers that only one of the configurations has, or that differ.
  fileprivate func providers(otherThanIn before: Config) -> Set<ProviderName> {
    let (old, new) = (before.byName, byName)
    return Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }
  }

  private var byName: [ProviderName: ProviderConfig] {
    Dictionary(providers.map { ($0.name, $0) }) { first, _ in first }
  }
}
