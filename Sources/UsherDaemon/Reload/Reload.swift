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

  private var life: ProcessContext { lockController.life }

  /// Returns when all is in force, or when it is certain that nothing has changed.
  ///
  /// - Returns: What is wrong; nothing where all is in force.
  /// - Throws: `shuttingDown`.
  @discardableResult
  func run() async throws(UsherError) -> [ConfigProblem] {
    try await life.reloads.take(.next) { () throws(UsherError) in
      let notifier = life.setting.notifier
      notifier.reloading()
      // Files and names may be far away: whoever locks or stops does not wait for them.
      let read = await read()
      return try await lockController.undisturbed { opened throws(UsherError) in
        var problems: [ConfigProblem] = []
        do throws(ConfigError) {
          try await change(to: try read.get(), opened)
        } catch {
          problems = error.problems
          tell(problems)
        }
        life.lastReload.ended(problems: problems.count)
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

  private func change(to found: Found, _ opened: UnlockedServices?) async throws(ConfigError) {
    let (config, policy) = (found.config, found.policy)
    let before = life.dependencies.config
    let others = config.providers(otherThanIn: before)
    let exchange: @Sendable () -> Set<ProviderName> = { [life] in
      life.dependencies.configStore.replace(by: config, policy)
      life.setting.follow(config.log)
      return others
    }
    let changed: Set<ProviderName>
    if let parts = opened?.parts {
      changed = await parts.follow(try await parts.ready(for: config), exchange: exchange)
    } else {
      changed = await life.betweenCalls(exchange)
    }
    life.log.notice(
      "reloaded",
      metadata: config.places.merging([
        "providers": "\(config.providers.count)", "clients": "\(config.clients.count)",
        "providersChanged": "\(changed.count)",
      ]) { $1 })
  }

  private func read() async -> Result<Found, ConfigError> {
    await life.dependencies.blocking.run { [setting = life.setting] in
      Result { () throws(ConfigError) in
        let config = try setting.reread()
        let fixed = setting.problems(with: config)
        guard fixed.isEmpty else { throw ConfigError(fixed) }
        return Found(config: config, policy: try setting.policy(of: config))
      }
    }
  }

  private func tell(_ problems: [ConfigProblem]) {
    life.log.warning(
      "the reload failed: nothing has changed", metadata: ["problems": "\(problems.count)"])
    for problem in problems.prefix(SystemReload.Reply.mostTold) {
      life.log.warning(
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
    let count = life.dependencies.config.providers.count
    let served = count == 1 ? "Serving 1 provider" : "Serving \(count) providers"
    return (opened == nil ? "Locked" : served) + life.lastReload.words
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
