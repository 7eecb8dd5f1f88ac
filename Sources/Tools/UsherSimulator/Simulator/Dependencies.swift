import UsherCore
import UsherDaemon

/// The clock of the simulated machine. It has no time zone but UTC.
struct SimulatorClock: Clock {
  let simulator: Simulator
  /// Names the machine's boot.
  let boot: String
  /// The time of the boot, in nanoseconds of ``Simulator/sinceBoot``.
  let bootedAt: UInt64

  func now() -> Timestamp { Timestamp(milliseconds: Int64(simulator.machineWall / 1_000_000)) }

  func bootTime() -> BootTime? {
    BootTime(boot: boot, milliseconds: Int64((simulator.sinceBoot - bootedAt) / 1_000_000))
  }
}

/// Whether a simulated process still runs. The steps of a process that was killed are not taken.
final class Life: @unchecked Sendable {
  private(set) var isOver = false
  /// Objects of the dead process. They are never released, because their deinitializers would act.
  private var retained: [Any] = []

  func end() {
    isOver = true
    _ = Unmanaged.passRetained(self)
  }

  /// Runs a step of the process if it lives.
  func runIfAlive(_ body: @escaping () -> Void) {
    if isOver { retained.append(body) } else { body() }
  }
}

/// Runs the jobs of tasks, and functions that block, as steps of the simulator.
final class SimulatorExecutor: TaskExecutor, BlockingPool, @unchecked Sendable {
  private let simulator: Simulator
  private let life: Life

  init(_ simulator: Simulator, _ life: Life = Life()) {
    self.simulator = simulator
    self.life = life
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    simulator.soon { [life] in
      life.runIfAlive { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  func start(_ body: @escaping @Sendable () -> Void) {
    simulator.soon { [life] in life.runIfAlive(body) }
  }
}

/// Timers that are steps of the simulator.
struct SimulatorScheduler: Scheduler {
  let simulator: Simulator
  let life: Life

  func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
    let timer = Timer(body)
    simulator.after(min(delay, .seconds(365 * 86_400))) { [life] in life.runIfAlive { timer.fire() }
    }
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
