/// Starts the daemon again when it has ended, as systemd does, and checks that it ends only for a
/// reason, and starts in time.
final class Supervisor {
  /// The time that a start may take, and that an orderly stop may take.
  private static let limit = Duration.seconds(120)

  private let simulator: Simulator
  private let machine: Machine
  private let history: TokenHistory
  private var random: RandomStream
  /// The number of hazards of the disk so far. A daemon that saw one may fail.
  private(set) var diskFaults = 0
  /// Whether the disk fails now.
  var isDiskFailing = false { didSet { diskFaults += 1 } }
  /// Since when the disk has accepted nothing; nil if it may accept something.
  var diskRefusesSince: UInt64?
  /// Whether ends are looked for.
  var isActive = true

  init(_ simulator: Simulator, _ machine: Machine, _ history: TokenHistory) {
    self.simulator = simulator
    self.machine = machine
    self.history = history
    random = RandomStream(seed: simulator.seed, for: "supervisor")
  }

  /// Starts the daemon, and again whenever it ends.
  func start() {
    do {
      try machine.start()
    } catch {
      return simulator.fail("the simulator cannot go on: \(error)")
    }
    guard let incarnation = machine.incarnation else { return }
    let diskFaults = isDiskFailing ? -1 : diskFaults
    simulator.after(Self.limit) { [self] in
      if incarnation.state == .starting, diskFaults == self.diskFaults {
        simulator.fail("the daemon is not ready after \(Self.limit)")
      }
    }
    watch(incarnation, diskFaults)
  }

  private func watch(_ incarnation: Incarnation, _ diskFaults: Int) {
    guard isActive else { return }
    guard incarnation.hasEnded else {
      return simulator.after(.seconds(1)) { [self] in watch(incarnation, diskFaults) }
    }
    // A daemon that cannot write keeps new tokens in memory, and its end loses them.
    if diskFaults != self.diskFaults { history.daemonWasKilled() }
    switch incarnation.state {
    case .failed(let reason) where diskFaults == self.diskFaults:
      simulator.fail("the daemon failed: \(reason)")
    case .stopped where !incarnation.isAskedToStop:
      simulator.fail("the daemon stopped although nobody asked for it")
    default: break
    }
    simulator.after(random.duration(.milliseconds(100) ... .seconds(100))) { [self] in start() }
  }

  /// Stops the daemon in an orderly way.
  func stop() {
    guard let incarnation = machine.incarnation, incarnation.isReady else { return }
    machine.stop()
    let diskFaults = isDiskFailing ? -1 : diskFaults
    simulator.after(Self.limit) { [self] in
      if !incarnation.hasEnded, diskFaults == self.diskFaults {
        simulator.fail("the daemon does not stop")
      }
    }
  }
}
