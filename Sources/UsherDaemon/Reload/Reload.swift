import Logging
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherSystem

/// Reads the configuration and the credentials again, and brings all of it into force, or nothing
/// (Service, "Reloading").
struct Reload: Sendable {
  let lockController: LockController

  private var processContext: ProcessContext { lockController.processContext }

  /// Returns when all is in force, or when it is certain that nothing has changed.
  ///
  /// - Returns: What is wrong; nothing where all is in force.
  /// - Throws: `shuttingDown`.
  @discardableResult
  func run() async throws(UsherError) -> [ConfigProblem] {
    try await processContext.reloads.withLock(.next) { () throws(UsherError) in
      let notifier = processContext.setting.notifier
      notifier.reloading()
      // Files and names may be far away: whoever locks or stops does not wait for them.
      let read = await read()
      return try await lockController.undisturbed { unlocked throws(UsherError) in
        var problems: [ConfigProblem] = []
        do throws(ConfigError) {
          try await change(to: try read.get(), unlocked)
        } catch {
          problems = error.problems
          tell(problems)
        }
        processContext.lastReload.ended(problems: problems.count)
        notifier.ready(status: lockController.status)
        return problems
      }
    }
  }

  /// For whose turn it is.
  enum Turn { case next }

  private struct Found {
    let config: Config
    let policy: Policy
  }

  private func change(to found: Found, _ unlocked: UnlockedServices?) async throws(ConfigError) {
    let (config, policy) = (found.config, found.policy)
    let before = processContext.dependencies.config
    let others = config.providers(otherThanIn: before)
    let exchange: @Sendable () -> Set<ProviderName> = { [processContext] in
      processContext.dependencies.configStore.replace(by: config, policy)
      processContext.setting.follow(config.log)
      return others
    }
    let changed: Set<ProviderName>
    if let services = unlocked?.services {
      changed = await services.apply(
        try await services.prepare(for: config), exchange: exchange)
    } else {
      changed = await processContext.betweenCalls(exchange)
    }
    processContext.log.notice(
      "reloaded",
      metadata: config.places.merging([
        "providers": "\(config.providers.count)", "clients": "\(config.clients.count)",
        "providersChanged": "\(changed.count)",
      ]) { $1 })
  }

  private func read() async -> Result<Found, ConfigError> {
    await processContext.dependencies.blocking.run { [setting = processContext.setting] in
      Result { () throws(ConfigError) in
        let config = try setting.reread()
        let fixed = setting.problems(with: config)
        guard fixed.isEmpty else { throw ConfigError(fixed) }
        return Found(config: config, policy: try setting.policy(of: config))
      }
    }
  }

  private func tell(_ problems: [ConfigProblem]) {
    processContext.log.warning(
      "the reload failed: nothing has changed", metadata: ["problems": "\(problems.count)"])
    for problem in problems.prefix(SystemReload.Reply.mostTold) {
      processContext.log.warning(
        "\(problem.message)",
        metadata: [
          "file": .string(problem.file), "line": "\(problem.line)", "key": .string(problem.key),
        ])
    }
  }
}

/// What became of the last reload, for the line that `systemctl status` shows.
final class LastReload: Sendable {
  private let problems = Mutex(0)

  func ended(problems count: Int) { problems.withLock { $0 = count } }

  /// To follow what the daemon does.
  var words: String {
    switch problems.withLock({ $0 }) {
    case 0: ""
    case 1: "; the last reload failed: 1 problem, see the journal"
    case let count: "; the last reload failed: \(count) problems, see the journal"
    }
  }
}

extension LockController {
  /// For `systemctl status`.
  var status: String {
    let count = processContext.dependencies.config.providers.count
    let served = count == 1 ? "Serving 1 provider" : "Serving \(count) providers"
    return (unlocked == nil ? "Locked" : served) + processContext.lastReload.words
  }
}

extension DaemonSetting {
  /// What only a restart can bring into force.
  fileprivate func problems(with config: Config) -> [ConfigProblem] {
    guard config.store.url != self.config.store.url else { return [] }
    return [
      config.problem(
        "store.url",
        "cannot be changed while usherd runs, with \"\(self.config.store.url.settingText)\": "
          + "stop it first")
    ]
  }
}

extension Config {
  /// The files that are in force, for the journal.
  var places: Logger.Metadata {
    let files = sources.files.joined(separator: " ")
    return ["files": .string(files.isEmpty ? "none: the defaults hold" : files)]
  }

  /// Those that are only here, only there, or not the same in both.
  fileprivate func providers(otherThanIn before: Config) -> Set<ProviderName> {
    let (old, new) = (before.byName, byName)
    return Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }
  }

  private var byName: [ProviderName: ProviderConfig] {
    Dictionary(providers.map { ($0.name, $0) }) { first, _ in first }
  }
}
