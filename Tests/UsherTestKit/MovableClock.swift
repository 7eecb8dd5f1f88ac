package import Foundation
package import NIOCore
import Synchronization
package import UsherCore
package import UsherDaemon
import UsherTransport

/// The clocks and timers of a daemon under test. They follow this machine's clocks, and a test can
/// move them.
///
/// When the clocks are moved, a daemon in this process runs its due timers at once, and those of
/// its connections. Its tasks do not run meanwhile, so that none sets a timer for a time that it
/// computed before. A daemon in a process of its own reads the moved clocks, but its timers run in
/// real time.
package final class MovableClock: Sendable {
  private struct Pending {
    /// The due time on the monotonic clock.
    var due: Timestamp
    var loop: any EventLoop
    var timer: Scheduled<Void>?
    var body: @Sendable () -> Void
    /// Whether the timer fires in real time even if the clocks are stopped.
    var isShort: Bool
  }

  private struct State {
    /// The times of this machine's clocks when they were stopped; nil while they run.
    var stopped: (wall: Timestamp, monotonic: Timestamp)?
    /// The seconds that the wall clock is ahead of this machine's.
    var ahead: Int64 = 0
    /// The seconds that the monotonic clock is ahead of this machine's.
    var passed: Int64 = 0
    var pending: [Int: Pending] = [:]
    var lastPending = 0
  }

  private let state = Mutex(State())
  /// The directory of the file from which a program reads the clocks; nil if there is none.
  private let file: Mutex<TemporaryDirectory?> = Mutex(nil)
  /// Moves the timers of the connections of a daemon in this process.
  let connectionTimers = LoopTimeShift()
  /// The threads for the tasks of a daemon in this process.
  let threads = DaemonThreads()

  package init() {}

  /// The seconds that the wall clock is ahead of this machine's; negative if it is behind.
  package var ahead: Int64 { state.withLock { $0.ahead } }

  /// Sets the wall clock, as an administrator can.
  ///
  /// - Parameter seconds: The new difference to this machine's clock; negative means behind.
  package func set(ahead seconds: Int64) throws {
    state.withLock { $0.ahead = seconds }
    try write()
  }

  /// Moves the wall clock and the monotonic clock ahead by this many seconds.
  package func advance(by seconds: Int64) throws {
    try move { state in
      state.ahead += seconds
      state.passed += seconds
    }
  }

  /// Moves both clocks ahead to the start of the next time step (RFC 6238 § 4.2) of this many
  /// seconds.
  package func advance(toNextStepOf period: Int64) throws {
    try advance(by: period - now().milliseconds / 1000 % period)
  }

  /// Sets the wall clock and the monotonic clock to this many seconds ahead of this machine's.
  package func pass(_ seconds: Int64) throws {
    try move { ($0.ahead, $0.passed) = (seconds, seconds) }
  }

  /// Stops the clocks of a daemon in this process, so that no limit expires while the machine is
  /// busy. From now on they change only when a test moves them.
  ///
  /// Timers fire when the clocks are moved to their time. Timers of less than a second, with which
  /// the daemon polls, fire in real time.
  package func stop() {
    state.withLock { state in
      state.stopped = (SystemClock().now(), SystemClock().monotonicNow())
      for (number, timer) in state.pending where !timer.isShort {
        timer.timer?.cancel()
        state.pending[number]?.timer = nil
      }
    }
  }

  /// Whether a timer is due after exactly this delay. Only useful with stopped clocks.
  package func hasTimer(in delay: Duration) -> Bool {
    state.withLock { state in
      let due = monotonicNow(state) + delay
      return state.pending.values.contains { $0.due == due }
    }
  }

  /// Waits until a timer of `seconds` is scheduled, and advances this stopped clock by that time.
  package func endWait(ofSeconds seconds: Int64) throws {
    try eventually("a timer of \(seconds) s is scheduled") { hasTimer(in: .seconds(seconds)) }
    try advance(by: seconds)
  }

  /// Changes the clocks, then runs the due timers.
  private func move(_ change: (inout State) -> Void) throws {
    try threads.pause { try moveAtOnce(change) }
  }

  private func moveAtOnce(_ change: (inout State) -> Void) throws {
    var seconds: Int64 = 0
    let due = state.withLock { state in
      seconds = -state.passed
      change(&state)
      seconds += state.passed
      let (now, isStopped) = (monotonicNow(state), state.stopped != nil)
      let due = state.pending.filter { $0.value.due <= now }
      for (number, timer) in state.pending {
        timer.timer?.cancel()
        state.pending[number] =
          due[number] == nil ? scheduled(number, timer, from: now, isStopped) : nil
      }
      return due.values.sorted { $0.due < $1.due }
    }
    try write()
    for timer in due { timer.loop.execute(timer.body) }
    if seconds > 0 { connectionTimers.advance(by: .seconds(seconds)) }
  }
}

/// Polls until the condition is true, and moves the clock ahead between two polls.
///
/// - Parameters:
///   - step: The seconds by which the clock is moved each time.
///   - limit: The seconds by which it is moved altogether. By default more than all retries of a
///     call take, and less than the deadline of a flow, which must not expire while the daemon
///     waits for a slow disk.
package func eventually(
  within seconds: Double = 60, _ what: String, moving clock: MovableClock, by step: Int64 = 1,
  atMost limit: Int64 = 200, _ holds: () throws -> Bool
) throws {
  var left = limit
  try eventually(within: seconds, what) {
    if try holds() { return true }
    if left >= step { try clock.advance(by: step) }
    left -= step
    return false
  }
}

extension MovableClock: UsherCore.Clock {
  /// The time of the wall clock.
  package var date: Date { Date(timeIntervalSince1970: Double(now().milliseconds) / 1000) }

  package func now() -> Timestamp {
    state.withLock { ($0.stopped?.wall ?? SystemClock().now()) + .seconds($0.ahead) }
  }

  package func utcOffset(at moment: Timestamp) -> Duration { SystemClock().utcOffset(at: moment) }

  package func monotonicNow() -> Timestamp { state.withLock { monotonicNow($0) } }

  package func bootTime() -> BootTime? {
    guard var time = SystemClock().bootTime() else { return nil }
    time.milliseconds += state.withLock { $0.passed } * 1000
    return time
  }

  private func monotonicNow(_ state: State) -> Timestamp {
    (state.stopped?.monotonic ?? SystemClock().monotonicNow()) + .seconds(state.passed)
  }
}

// MARK: - The timers of a daemon in this process

extension MovableClock {
  package func scheduler(on loop: any EventLoop) -> any Scheduler {
    MovableScheduler(clock: self, loop: loop)
  }

  package var executor: any TaskExecutor { threads }

  private struct MovableScheduler: Scheduler {
    let clock: MovableClock
    let loop: any EventLoop

    func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledTimer {
      let number = clock.add(delay, loop, body)
      return ScheduledTimer { clock.takeOut(number)?.timer?.cancel() }
    }
  }

  private func add(
    _ delay: Duration, _ loop: any EventLoop, _ body: @escaping @Sendable () -> Void
  ) -> Int {
    state.withLock { state in
      state.lastPending += 1
      let (number, now) = (state.lastPending, monotonicNow(state))
      let due = now + min(max(delay, .zero), .seconds(365 * 86_400))
      let timer = Pending(
        due: due, loop: loop, timer: nil, body: body, isShort: delay < .seconds(1))
      state.pending[number] = scheduled(number, timer, from: now, state.stopped != nil)
      return number
    }
  }

  private func scheduled(
    _ number: Int, _ timer: Pending, from now: Timestamp, _ isStopped: Bool
  ) -> Pending {
    var timer = timer
    timer.timer = nil
    guard timer.isShort || !isStopped else { return timer }
    timer.timer = timer.loop.scheduleTask(in: TimeAmount(max(timer.due - now, .zero))) {
      [weak self] in self?.takeOut(number)?.body()
    }
    return timer
  }

  private func takeOut(_ number: Int) -> Pending? {
    state.withLock { $0.pending.removeValue(forKey: number) }
  }
}

// MARK: - The clocks of a daemon in a process of its own

extension MovableClock {
  /// The directory of `clock.so`, which replaces the C library's clocks if it is preloaded.
  /// Compiled once for all tests.
  private static let compiled = Result {
    let place = try TemporaryDirectory()
    let built = try run(
      "/usr/bin/env",
      ["clang", "-shared", "-fPIC", "-o", place.file("clock.so"), TestScript.movableClock])
    guard built.status == 0 else {
      throw TestError("cannot compile movable_clock.c: \(built.errors)")
    }
    return place
  }

  /// The environment variables with which a program reads these clocks.
  ///
  /// - Throws: ``TestError`` if there is no C compiler.
  package var environment: [String: String] {
    get throws {
      let preloaded = try Self.compiled.get().file("clock.so")
      let place = try file.withLock { file in
        if let file { return file }
        let place = try TemporaryDirectory()
        try Data(count: 16).write(to: URL(fileURLWithPath: place.file("ahead")))
        file = place
        return place
      }
      try write()
      return ["LD_PRELOAD": preloaded, "USHER_TEST_AHEAD": place.file("ahead")]
    }
  }

  private func write() throws {
    guard let path = file.withLock({ $0?.file("ahead") }) else { return }
    guard let file = FileHandle(forWritingAtPath: path) else {
      throw TestError("cannot open the file that holds the clock's time")
    }
    let ahead = state.withLock { [$0.ahead, $0.passed] }
    // Written in place, because the program has the file mapped.
    try file.write(contentsOf: ahead.withUnsafeBytes { Data($0) })
    try file.close()
  }
}
