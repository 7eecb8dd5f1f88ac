import Logging
import UsherConfig
import UsherCore
import UsherDaemon
import UsherSystem

/// The machine on which the daemon runs: its files, users and sockets, and the daemon's starts and
/// ends.
final class Machine {
  private let simulator: Simulator
  private let network: ProviderNetwork
  /// The directory of the machine's files and sockets.
  let root: String
  private let files: MachineFiles
  private(set) var incarnation: Incarnation?
  private(set) var starts = 0
  private(set) var boots = 1
  private(set) var kills = 0
  private var bootedAt: UInt64 = 0
  /// The configuration that the daemon reads when it starts or reloads.
  var config: Config
  /// Called when a daemon was killed.
  var onKill: () -> Void = {}
  /// Called when a daemon is ready.
  var onReady: () -> Void = {}

  var socketPath: String { "\(root)/usherd.sock" }
  var adminSocketPath: String { "\(root)/usherd-admin.sock" }

  /// - Parameter directory: An empty directory for the daemon's files.
  init(_ simulator: Simulator, _ network: ProviderNetwork, directory: String, config: Config) throws
  {
    self.simulator = simulator
    self.network = network
    self.config = config
    root = directory
    files = try MachineFiles(in: directory, simulator.kernel.disk)
    simulator.pollLoops = { [unowned self] in incarnation?.pollLoops() ?? false }
    simulator.haveLoopsJobs = { [unowned self] in incarnation?.haveLoopsJobs ?? false }
    simulator.nextLoopTimer = { [unowned self] in
      guard let timer = incarnation?.nextLoopTimer else { return nil }
      return timer - min(timer, simulator.sinceBoot - simulator.now)
    }
    simulator.afterStep = { [unowned self] in
      incarnation?.runNIO()
      if simulator.kernel.disk.hasStopped() { kill("between two operations on the disk") }
    }
  }

  func start() throws {
    starts += 1
    simulator.trace.note("start \(starts)")
    let incarnation = try Incarnation(number: starts, root: root, simulator.trace)
    self.incarnation = incarnation
    incarnation.onReady = onReady
    incarnation.start(
      setting(incarnation), on: SimulatorExecutor(simulator, incarnation.life))
  }

  private func setting(_ incarnation: Incarnation) -> DaemonSetting {
    let life = incarnation.life
    let (simulator, network, number, root) = (simulator, network, starts, root)
    var setting = DaemonSetting(
      config: config, stateDirectory: files.path, socketPath: socketPath,
      adminSocketPath: adminSocketPath)
    let machine = UncheckedSendable(self)
    setting.reread = { () throws(ConfigError) in machine.value.config }
    setting.log = Logger(label: "usherd") { _ in MachineLog(simulator.trace, root) }
    setting.clock = SimulatorClock(
      simulator: simulator, boot: "simulated-\(boots)", bootedAt: bootedAt)
    setting.scheduler = { _ in SimulatorScheduler(simulator: simulator, life: life) }
    setting.transport = { _ in network.connect(life) }
    setting.entropy = SeededEntropy(RandomStream(seed: simulator.seed, for: "entropy \(number)"))
    setting.users = SimulatedUsers.database
    setting.sockets.simulate(by: simulator.kernel)
    setting.sockets.bindForBrowsers = { incarnation.bindForBrowsers($0) }
    setting.daemonUser = SimulatedUsers.daemon
    setting.processors = 2
    setting.descriptors = .unlimited
    setting.passcodeRounds = 2
    setting.fingerprints = { NoFingerprints() }
    return setting
  }

  func stop() {
    simulator.trace.note("stop")
    incarnation?.stop()
  }

  /// Kills the daemon, if it runs.
  ///
  /// - Parameter powerFailure: Determines what the disk loses; nil if only the process ends.
  func kill(_ reason: String, powerFailure: UInt64? = nil) {
    simulator.trace.note("kill: \(reason)")
    kills += 1
    incarnation?.kill()
    simulator.kernel.cutSockets()
    network.cut()
    simulator.mayLoopsHaveWork = true
    do {
      try files.restart(afterPowerFailure: powerFailure)
    } catch {
      simulator.fail("the simulator cannot go on: \(error)")
    }
    if powerFailure != nil {
      boots += 1
      bootedAt = simulator.sinceBoot
    }
    onKill()
  }
}

/// Writes the daemon's log messages into the trace. Their metadata is left out: part of it comes
/// from libraries.
private struct MachineLog: LogHandler {
  let trace: Trace
  /// The directory of the machine, which another process has at another path.
  let root: String
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  init(_ trace: Trace, _ root: String) {
    self.trace = trace
    self.root = root
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let message = event.message.description.replacing(root, with: "")
    trace.note("log \(event.level) \(message)")
  }
}

private struct NoFingerprints: FingerprintScanning {
  func enrolledFingers(of user: String) async throws(FingerprintError) -> [String] {
    throw .noReader
  }

  func verify(
    user: String, within limit: Duration, onHint: @escaping @Sendable (FingerprintHint) -> Void
  ) async throws(FingerprintError) -> FingerprintVerdict {
    throw .noReader
  }

  func close() {}
}
