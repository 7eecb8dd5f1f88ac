import Foundation
import JSONRPC
import Logging
import NIOCore
import NIOPosix
import Synchronization
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

/// A state directory, and a daemon without sockets that may be started repeatedly.
final class LockControllerHarness: Sendable {
  static let passcode = Secret("till-4711")

  let place: TemporaryDirectory
  let clock = FakeClock()
  let scheduler: FakeScheduler
  let setting: DaemonSetting
  let dependencies: Dependencies
  /// The configuration that a reload reads.
  let files: ConfigSource
  /// The messages sent to systemd.
  let told = Recorded<String>()

  /// - Parameters:
  ///   - holdsTimers: Whether timers fire only when the test advances them. Otherwise they fire in
  ///     real time, whatever the clock shows.
  ///   - descriptors: The budget that the daemon checks before it uses one of the process's last
  ///     descriptors.
  ///   - users: The user database; by default one that does not answer.
  ///   - transport: The transport to the providers; nil for the network.
  ///   - configure: Changes the configuration with which the daemon starts.
  init(
    holdsTimers: Bool = false, descriptors: DescriptorBudget = .unlimited,
    users: UserDatabase = UserDatabase(user: { _ in .failed }),
    transport: (any ProviderTransport)? = nil,
    _ configure: (inout Config) throws -> Void = { _ in }
  ) throws {
    place = try TemporaryDirectory()
    scheduler = FakeScheduler(clock)
    var config = Config()
    config.providers = [try .sample()]
    try configure(&config)
    var setting = DaemonSetting(
      config: config, stateDirectory: place.path, socketPath: place.file("u.sock"),
      adminSocketPath: place.file("a.sock"))
    setting.clock = clock
    setting.users = users
    if let transport { setting.transport = { _ in transport } }
    setting.notifier = ServiceNotifier(watchdogInterval: nil) { [told] in told.add($0) }
    try FileManager.default.createDirectory(
      atPath: place.file("credentials"), withIntermediateDirectories: false)
    setting.credentials = CredentialsDirectory(path: place.file("credentials"))
    let files = ConfigSource(config)
    setting.reread = { () throws(ConfigError) in try files.read() }
    self.files = files
    self.setting = setting
    let loop = MultiThreadedEventLoopGroup.singleton.any()
    dependencies = Dependencies(
      configStore: .fake(config), clock: clock, entropy: SystemEntropy(),
      scheduler: holdsTimers ? scheduler : EventLoopScheduler(on: loop), users: users,
      processors: 2, descriptors: descriptors, log: .silent)
  }

  /// Starts a daemon.
  func begun() async throws -> LockController {
    let lockController = LockController(
      ProcessContext(setting, dependencies, on: MultiThreadedEventLoopGroup.singleton))
    try await lockController.begin()
    await lockController.resume()
    return lockController
  }

  /// Sets a passcode that is cheap to check for a user of this store.
  func setPasscode(_ store: Store, of owner: Owner = .anna) async throws {
    let service = LocalAuthService.fake(dependencies, store, FakeReader())
    _ = try await service.setPasscode(
      Self.passcode, old: nil, isReset: true, of: LocalPerson(realm: owner.realm, uid: owner.uid))
  }

  /// Starts a flow of anna that waits for her passcode.
  func startFlow(_ lockController: LockController) async throws -> Flow {
    let services = try lockController.services()
    try await setPasscode(services.store)
    try services.localAuth.restore()
    return try await services.flows.start(
      FlowStart(
        provider: ProviderConfig.local.name, kind: LocalAuthenticate.kind,
        params: ["localAuthType": "passcode", "reason": "open the till"], waitMs: 10_000),
      .program()
    ).flow
  }

  var databasePath: String { setting.databasePath }
}

extension LockController {
  func services() throws -> Services {
    guard let unlocked else { throw TestError("the daemon is locked") }
    return unlocked
  }
}

extension LockService {
  /// Authorizes and handles `system.lock`.
  func lock(_ caller: Caller) async throws(UsherError) -> Done {
    let audit = lockController.processContext.audit
    return try await lock(try AuthorizedCall(ungated: SystemLock.self, caller, audit))
  }

  /// Authorizes and handles `system.unlock`.
  func unlock(_ unlock: SystemUnlock, _ caller: Caller) async throws(UsherError) -> Done {
    let audit = lockController.processContext.audit
    return try await self.unlock(
      unlock, try AuthorizedCall(ungated: SystemUnlock.self, caller, audit))
  }
}

extension ReloadService {
  /// Authorizes and handles `system.reload`.
  func reload(_ caller: Caller) async throws(UsherError) -> SystemReload.Reply {
    let audit = lockController.processContext.audit
    return try await reload(try AuthorizedCall(ungated: SystemReload.self, caller, audit))
  }
}

/// The content of the configuration files, or the error of reading them.
final class ConfigSource: Sendable {
  /// Blocks the reader.
  final class Hold: Sendable {
    private let awaited = Mutex(false)
    private let hold = DispatchSemaphore(value: 0)

    /// Whether a reader is blocked.
    var isAwaited: Bool { awaited.withLock { $0 } }

    func letGo() { hold.signal() }

    fileprivate func wait() {
      awaited.withLock { $0 = true }
      hold.wait()
    }
  }

  private let content: Mutex<Result<Config, ConfigError>>
  private let holding = Mutex<Hold?>(nil)

  init(_ config: Config) { content = Mutex(.success(config)) }

  func read() throws(ConfigError) -> Config {
    holding.withLock { $0 }?.wait()
    return try content.withLock { $0 }.get()
  }

  func hold() -> Hold {
    let hold = Hold()
    holding.withLock { $0 = hold }
    return hold
  }

  func change(_ change: (inout Config) -> Void) throws {
    var config = try read()
    change(&config)
    let changed = config
    content.withLock { $0 = .success(changed) }
  }

  func mend(_ config: Config) { content.withLock { $0 = .success(config) } }

  func spoil(_ message: String, times: Int = 1) {
    let problem = ConfigProblem(file: "u.toml", line: 3, column: 1, key: "a", message: message)
    content.withLock {
      $0 = .failure(ConfigError(Array(repeating: problem, count: times)))
    }
  }
}
