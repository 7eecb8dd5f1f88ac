import HeapModule

/// The simulated machine: its time, and everything that waits to happen in it.
///
/// All of it runs on one thread, one step at a time. A step is a job of a task, a function that
/// blocks, a timer that is due, an act of a client, a message that arrives, or an iteration of the
/// daemon's event loops. The seed determines which of the waiting steps is next.
final class Simulator: @unchecked Sendable {
  private struct Deadline: Comparable {
    let time: UInt64
    /// Decides between deadlines of the same time.
    let tie: UInt64
    let run: () -> Void

    static func < (one: Deadline, other: Deadline) -> Bool {
      (one.time, one.tie) < (other.time, other.tie)
    }

    static func == (one: Deadline, other: Deadline) -> Bool {
      (one.time, one.tie) == (other.time, other.tie)
    }
  }

  /// 2027-01-15T08:00:00Z.
  private static let start: UInt64 = 1_800_000_000_000_000_000

  let seed: UInt64
  let kernel: SimulatedKernel
  /// The nanoseconds since the start of the simulation, which is an hour after boot.
  private(set) var now: UInt64 = 0
  private(set) var trace: Trace!
  /// The problem that ended the run; nil if there is none.
  private(set) var finding: String?
  /// Runs the event loops of the daemon once; returns whether they had anything to do.
  var pollLoops: () -> Bool = { false }
  /// Returns whether functions were submitted to the loops.
  var haveLoopsJobs: () -> Bool = { false }
  /// Called after each step.
  var afterStep: () -> Void = {}
  /// Called after the loops had something to do: the clients may have something to read.
  var afterLoops: () -> Void = {}
  /// Returns the time of the next timer of the loops.
  var nextLoopTimer: () -> UInt64? = { nil }

  /// By how much the wall clock of the daemon's machine is ahead.
  var clockError = Duration.zero

  private var ready: [() -> Void] = []
  private var deadlines = Heap<Deadline>()
  /// Whether the loops may have something to do: a client acted, or they had something to do when
  /// they were run last.
  var mayLoopsHaveWork = false
  private var schedule: RandomStream
  private var ties: RandomStream
  /// The percentage of steps that are taken in the order in which they became ready.
  private let inOrder: Int
  private let escapesBefore: Int

  init(seed: UInt64, kernel: SimulatedKernel, print: ((String) -> Void)?) {
    self.seed = seed
    self.kernel = kernel
    schedule = RandomStream(seed: seed, for: "schedule")
    ties = RandomStream(seed: seed, for: "ties")
    inOrder = schedule.pick([0, 30, 70, 95])
    escapesBefore = kernel.escapes()
    trace = Trace(time: { [unowned self] in now }, print: print)
    tellKernel()
  }

  /// The wall clock of everybody but the daemon's machine.
  var wall: UInt64 { Self.start + now }
  /// The wall clock of the daemon's machine.
  var machineWall: UInt64 { UInt64(Int64(wall) + clockError.nanoseconds) }
  var sinceBoot: UInt64 { 3_600_000_000_000 + now }

  /// Records a violation of a property. The run ends after the present step.
  func fail(_ finding: String) {
    trace.note("FINDING \(finding)")
    if self.finding == nil { self.finding = finding }
  }

  // MARK: - Adding steps

  func soon(_ run: @escaping () -> Void) { ready.append(run) }

  func after(_ delay: Duration, _ run: @escaping () -> Void) {
    let time = now + UInt64(max(delay, .zero).nanoseconds)
    deadlines.insert(Deadline(time: time, tie: ties.next(), run: run))
  }

  // MARK: - Running

  /// Runs steps until the given time, until nothing waits, or until a property is violated.
  func run(until end: UInt64) {
    while now < end, finding == nil, step(before: end) {}
  }

  /// Runs steps until a condition holds.
  ///
  /// - Returns: False if nothing is left to do, the time is over or a property is violated.
  func run(until end: UInt64, unless isMet: () -> Bool) -> Bool {
    while finding == nil, now < end {
      if isMet() { return true }
      guard step(before: end) else { return isMet() }
    }
    return isMet()
  }

  /// Runs one step, or moves the time to the next deadline if nothing is ready.
  private func step(before end: UInt64) -> Bool {
    while let next = deadlines.min, next.time <= now {
      deadlines.removeMin()
      soon(next.run)
    }
    if haveLoopsJobs() || nextLoopTimer().map({ $0 <= now }) ?? false { mayLoopsHaveWork = true }
    let count = ready.count + (mayLoopsHaveWork ? 1 : 0)
    guard count > 0 else { return advance(before: end) }
    let index = schedule.chance(inOrder) ? 0 : schedule.number(0...(count - 1))
    trace.step(index, of: count, at: now)
    if index == ready.count {
      mayLoopsHaveWork = pollLoops()
      if mayLoopsHaveWork { afterLoops() }
    } else {
      ready.remove(at: index)()
    }
    if kernel.escapes() != escapesBefore { fail("a task or function ran on another thread") }
    afterStep()
    now += UInt64(schedule.number(0...50)) * 1000
    tellKernel()
    return true
  }

  private func advance(before end: UInt64) -> Bool {
    let next = [deadlines.min?.time, nextLoopTimer()].compactMap { $0 }.min()
    guard let next else { return false }
    now = max(now, min(next, end))
    tellKernel()
    return true
  }

  private func tellKernel() { kernel.setTime(sinceBoot, machineWall) }
}
