import UsherCore
import UsherDaemon

/// The clock of the simulated machine. It has no time zone but UTC.
struct SimulatorClock: Clock {
  let simulator: Simulator

  func now() -> Timestamp { Timestamp(milliseconds: Int64(simulator.wall / 1_000_000)) }

  func bootTime() -> BootTime? {
    BootTime(boot: "simulated", milliseconds: Int64(simulator.sinceBoot / 1_000_000))
  }
}

/// Runs the jobs of tasks, and functions that block, as steps of the simulator.
final class SimulatorExecutor: TaskExecutor, BlockingPool, @unchecked Sendable {
  private let simulator: Simulator

  init(_ simulator: Simulator) { self.simulator = simulator }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    simulator.soon { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  func start(_ body: @escaping @Sendable () -> Void) { simulator.soon(body) }
}

/// Timers that are steps of the simulator.
struct SimulatorScheduler: Scheduler {
  let simulator: Simulator

  func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let timer = Timer(body)
    simulator.after(min(delay, .seconds(365 * 86_400))) { timer.fire() }
    return ScheduledTimer { timer.cancel() }
  }

  private final class Timer: @unchecked Sendable {
    private var body: (@Sendable () -> Void)?

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func cancel() { body = nil }

    func fire() {
      body?()
      body = nil
    }
  }
}

/// Random bytes that the seed determines, other ones after each start of the daemon.
final class SeededEntropy: Entropy, @unchecked Sendable {
  private var stream: RandomStream

  init(_ stream: RandomStream) { self.stream = stream }

  func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &stream) }
  }
}
