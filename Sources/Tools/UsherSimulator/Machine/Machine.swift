import Logging
import UsherConfig
import UsherCore
import UsherDaemon
import UsherSystem

/// The machine on which the daemon runs: its files, users and sockets, and the daemon's starts and
/// stops.
final class Machine {
  private let simulator: Simulator
  private let network: ProviderNetwork
  private let directory: String
  private let config: Config
  private(set) var incarnation: Incarnation?
  private(set) var starts = 0

  var socketPath: String { "\(directory)/usherd.sock" }

  /// - Parameter directory: An empty directory for the daemon's files.
  init(_ simulator: Simulator, _ network: ProviderNetwork, directory: String, config text: String)
    throws
  {
    self.simulator = simulator
    self.network = network
    self.directory = directory
    config = try Config.load(files: [(path: "usherd.toml", text: text)])
    simulator.pollLoops = { [unowned self] in incarnation?.pollLoops() ?? false }
    simulator.areLoopsAwaited = { [unowned self] in incarnation?.areLoopsAwaited ?? false }
    simulator.nextLoopTimer = { [unowned self] in
      guard let timer = incarnation?.nextLoopTimer else { return nil }
      return timer - min(timer, simulator.sinceBoot - simulator.now)
    }
  }

  func start() throws {
    starts += 1
    simulator.trace.note("start \(starts)")
    let incarnation = try Incarnation(number: starts)
    self.incarnation = incarnation
    let executor = SimulatorExecutor(simulator)
    let handle = network.connect()
    var setting = DaemonSetting(
      config: config, stateDirectory: directory, socketPath: socketPath,
      adminSocketPath: "\(directory)/usherd-admin.sock")
    let (simulator, number) = (simulator, starts)
    setting.log = Logger(label: "usherd") { _ in MachineLog(simulator.trace) }
    setting.clock = SimulatorClock(simulator: simulator)
    setting.scheduler = { _ in SimulatorScheduler(simulator: simulator) }
    setting.transport = { _ in handle }
    setting.entropy = SeededEntropy(RandomStream(seed: simulator.seed, for: "entropy \(number)"))
    setting.users = SimulatedUsers.database
    setting.sockets.identifyClients()
    setting.daemonUser = 900
    setting.processors = 2
    setting.descriptors = .unlimited
    setting.passcodeRounds = 2
    setting.fingerprints = { NoFingerprints() }
    incarnation.start(setting, on: executor, simulator.trace)
  }

  func stop() {
    simulator.trace.note("stop")
    incarnation?.stop()
  }
}

/// Writes the daemon's log messages into the trace. Their metadata is left out: part of it comes
/// from libraries.
private struct MachineLog: LogHandler {
  let trace: Trace
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  init(_ trace: Trace) { self.trace = trace }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { trace.note("log \(event.level) \(event.message)") }
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
