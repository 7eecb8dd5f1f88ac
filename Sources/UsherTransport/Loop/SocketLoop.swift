package import NIOCore
import Synchronization
package import UsherCore
import UsherSystem

/// Event loop of the daemon's sockets: one thread that waits for events and timers and then handles
/// them.
///
/// An iteration handles ready sockets, then submitted jobs, then the functions of
/// ``atEndOfIteration(_:)``, then due timers. ``execute(_:)``, ``submit(_:)``,
/// ``scheduleRepeatedTask(every:_:)`` and ``stop()`` may be called from any thread, all other
/// methods on the loop's thread only.
@usableFromInline
package final class SocketLoop: @unchecked Sendable {
  /// The maximum number of bytes of one read.
  static let receiveBufferBytes = 16_384

  private struct Inbox {
    var jobs: [@Sendable () -> Void] = []
    /// Whether the loop has been woken to run the jobs.
    var isWoken = false
    var isStopped = false
    var stopWaiters: [CheckedContinuation<Void, Never>] = []
  }

  private let poller: Poller
  private let inbox = Mutex(Inbox())
  /// Whether ``inbox`` has jobs; read without taking its lock.
  private let hasJobs = Atomic(false)
  /// The identifier of the loop's thread; 0 if the thread does not run.
  private let thread = Atomic<UInt>(0)

  // The following properties are accessed on the loop's thread only.
  private var ready = ReadyList()
  private var sources = SourceTable()
  private let timers = LoopTimers()
  /// The shift of the timers in tests; nil if they follow the machine's clock.
  private let shift: LoopTimeShift?
  private var endOfIterationActions: [() -> Void] = []
  private var isStopping = false
  /// Whether ``processorTimeBefore`` is updated in each iteration. Set while several parties share
  /// the loop.
  var measuresProcessorTime = false
  /// The thread's processor time at the start of this iteration; an earlier value if
  /// ``measuresProcessorTime`` is false.
  private(set) var processorTimeBefore = TimeAmount.zero
  /// The buffer into which all sockets are read.
  private let receiveBuffer: UnsafeMutableRawBufferPointer

  /// Creates the loop and starts its thread.
  ///
  /// - Throws: `internalError` if the process has no descriptors or threads left.
  package convenience init(timersMovedBy shift: LoopTimeShift? = nil) throws(UsherError) {
    try self.init(shift)
    try LoopThread.start("usherd-sockets") { [self] in run() }
    shift?.onAdvance { [weak self] in self?.execute {} }
  }

  private init(_ shift: LoopTimeShift?) throws(UsherError) {
    self.shift = shift
    poller = try Poller()
    receiveBuffer = .allocate(byteCount: Self.receiveBufferBytes, alignment: 64)
  }

  /// Creates a loop without a thread, for simulations: whoever creates it runs the iterations with
  /// ``runOnce()``.
  ///
  /// - Throws: `internalError` if the process has no descriptors left.
  package static func withoutThread() throws(UsherError) -> SocketLoop { try SocketLoop(nil) }

  deinit { receiveBuffer.deallocate() }
}

// Methods for callers on any thread.
extension SocketLoop {
  /// The current time of the clock by which a loop measures timers and durations.
  package static var now: NIODeadline { .now() }
  package var now: NIODeadline { Self.now }

  package var isOnLoop: Bool { thread.load(ordering: .relaxed) == LoopThread.current }

  /// Runs `job` on the loop's thread, after all jobs submitted before.
  ///
  /// - Returns: False if the loop has stopped; then `job` does not run.
  @discardableResult
  package func execute(_ job: @escaping @Sendable () -> Void) -> Bool {
    let isHere = isOnLoop
    let (isAccepted, needsWakeUp) = inbox.withLock { inbox in
      guard !inbox.isStopped else { return (false, false) }
      inbox.jobs.append(job)
      hasJobs.store(true, ordering: .releasing)
      // A wake-up is not needed on the loop's own thread: the loop checks for jobs before its next
      // wait.
      guard !isHere, !inbox.isWoken else { return (true, false) }
      inbox.isWoken = true
      return (true, true)
    }
    if needsWakeUp { poller.wakeUp() }
    return isAccepted
  }

  /// Runs `body` on the loop's thread and returns its result.
  ///
  /// - Throws: `shuttingDown` if the loop has stopped; errors of `body`.
  package func submit<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let isAccepted = execute { continuation.resume(with: Result { try body() }) }
      if !isAccepted { continuation.resume(throwing: UsherError.stopping) }
    }
  }

  /// Runs `body` on the loop at once, and again `interval` after each run, until the returned task
  /// is cancelled.
  package func scheduleRepeatedTask(
    every interval: TimeAmount, _ body: @escaping @Sendable () -> Void
  ) -> RepeatedLoopTask {
    let task = RepeatedLoopTask(body)
    execute { [self] in reschedule(task, every: interval) }
    return task
  }

  /// Runs the jobs that were submitted, closes all sockets and ends the thread; returns when the
  /// thread no longer uses the loop. May be called more than once.
  package func stop() async {
    await withCheckedContinuation { continuation in
      let isStopped = inbox.withLock { inbox in
        if !inbox.isStopped { inbox.stopWaiters.append(continuation) }
        return inbox.isStopped
      }
      if isStopped { return continuation.resume() }
      execute { [self] in isStopping = true }
    }
  }

  /// Traps if the caller is not on the loop's thread.
  @usableFromInline
  package func preconditionOnLoop() { precondition(isOnLoop, "not on the loop") }

  func assertOnLoop() { assert(isOnLoop, "not on the loop") }
}

// Methods for timers and sockets, on the loop's thread only.
extension SocketLoop {
  /// Runs `body` at the deadline, or as soon after it as possible.
  package func scheduleTask(deadline: NIODeadline, _ body: @escaping () -> Void) -> LoopTimer {
    assertOnLoop()
    return timers.add(deadline + offset, body)
  }

  package func scheduleTask(in delay: TimeAmount, _ body: @escaping () -> Void) -> LoopTimer {
    scheduleTask(deadline: now + delay, body)
  }

  /// Runs `body` at the end of every iteration, for as long as the loop runs.
  package func atEndOfIteration(_ body: @escaping () -> Void) {
    assertOnLoop()
    endOfIterationActions.append(body)
  }

  /// Starts watching a socket; see ``LoopSource/begin(_:)``.
  ///
  /// - Returns: The key under which the socket is watched.
  func watch(
    _ source: LoopSource, _ socket: DirectSocket, for interest: Readiness
  ) throws(UsherError) -> UInt64 {
    assertOnLoop()
    let key = sources.add(source)
    do throws(UsherError) {
      try poller.add(socket, key: key, interest)
    } catch {
      sources.remove(key)
      throw error
    }
    return key
  }

  func watch(_ socket: DirectSocket, key: UInt64, for interest: Readiness) {
    assertOnLoop()
    poller.change(socket, key: key, interest)
  }

  /// Stops watching a socket. Events that the current iteration still reports for it are ignored,
  /// even if its descriptor number is reused.
  func unwatch(_ socket: DirectSocket, key: UInt64) {
    assertOnLoop()
    sources.remove(key)
    poller.remove(socket)
  }

  /// Reads at most ``receiveBufferBytes`` bytes and passes them to `body`, which must not keep the
  /// pointer. The bytes are wiped afterwards.
  func receive(
    from socket: DirectSocket, _ body: (UnsafeRawBufferPointer) -> Void
  ) -> DirectSocket.Received {
    let received = socket.receive(into: receiveBuffer)
    guard case .bytes(let count) = received else { return received }
    let bytes = UnsafeRawBufferPointer(rebasing: receiveBuffer[..<count])
    body(bytes)
    bytes.wipe()
    return received
  }
}

// MARK: - Iterations
extension SocketLoop {
  private func run() {
    thread.store(LoopThread.current, ordering: .relaxed)
    var now: NIODeadline?
    while !isStopping { now = runIteration(waiting: pollTimeout(now)) }
    closeAll()
  }

  /// Runs one iteration of a loop without a thread, on the calling thread and without waiting. Ends
  /// the loop if ``stop()`` was called; does nothing after that.
  ///
  /// - Returns: Whether a socket was ready, a job was submitted or a timer was due.
  package func runOnce() -> Bool {
    if inbox.withLock({ $0.isStopped }) { return false }
    thread.store(LoopThread.current, ordering: .relaxed)
    defer { thread.store(0, ordering: .relaxed) }
    let isDue = timers.next.map { $0 <= now + offset } ?? false
    let hadJobs = hasJobs.load(ordering: .acquiring)
    _ = runIteration(waiting: 0)
    if isStopping { closeAll() }
    return isDue || hadJobs || ready.count > 0
  }

  /// Whether jobs were submitted that have not run yet.
  package var hasPendingJobs: Bool { hasJobs.load(ordering: .acquiring) }

  /// The deadline of the next timer of a loop without a thread.
  package var nextTimer: NIODeadline? { timers.next }

  /// Closes all sockets, runs the jobs that are left, and ends the loop.
  private func closeAll() {
    repeat {
      for source in sources.all { source.close() }
      runJobs()
    } while !end()
  }

  /// Runs one iteration of the loop.
  ///
  /// - Parameter nanoseconds: The longest time to wait for an event; negative without limit.
  /// - Returns: The current time if it is known, for the next iteration.
  private func runIteration(waiting nanoseconds: Int64) -> NIODeadline? {
    poller.wait(&ready, nanoseconds: nanoseconds)
    if measuresProcessorTime { processorTimeBefore = ProcessorTime.ofThread() }
    for index in 0..<ready.count {
      let (key, events) = ready[index]
      if key == Poller.wakeUpKey { poller.clearWakeUp() } else { sources[key]?.ready(events) }
    }
    runJobs()
    for end in endOfIterationActions { end() }
    return runDueTimers()
  }

  /// Returns the nanoseconds that the loop may wait: until the next timer, 0 if there are jobs,
  /// negative (without limit) if there is no timer.
  private func pollTimeout(_ now: NIODeadline?) -> Int64 {
    if hasJobs.load(ordering: .acquiring) || isStopping { return 0 }
    guard let next = timers.next else { return -1 }
    return max(0, (next - ((now ?? .now()) + offset)).nanoseconds)
  }

  /// How far the timers are ahead of the machine's clock.
  private var offset: TimeAmount { shift?.offset ?? .nanoseconds(0) }

  private func runJobs() {
    guard hasJobs.load(ordering: .acquiring) else { return }
    let jobs = inbox.withLock { inbox in
      var jobs: [@Sendable () -> Void] = []
      swap(&jobs, &inbox.jobs)
      inbox.isWoken = false
      hasJobs.store(false, ordering: .relaxed)
      return jobs
    }
    for job in jobs { job() }
  }

  /// Runs the functions of the timers that are due.
  ///
  /// - Returns: The current time if it is known, for the next iteration.
  private func runDueTimers() -> NIODeadline? {
    guard timers.next != nil else { return nil }
    let now = self.now
    let due = now + offset
    guard var body = timers.pop(at: due) else { return now }
    while true {
      body()
      // A timer that such a function schedules for now runs in the next iteration.
      guard let next = timers.pop(at: due) else { return nil }
      body = next
    }
  }

  private func reschedule(_ task: RepeatedLoopTask, every interval: TimeAmount) {
    guard task.run() else { return }
    _ = scheduleTask(in: interval) { [self] in reschedule(task, every: interval) }
  }

  /// Ends the loop unless jobs or sockets are left.
  ///
  /// - Returns: False if jobs or sockets are left.
  private func end() -> Bool {
    let waiting: [CheckedContinuation<Void, Never>]? = inbox.withLock { inbox in
      guard inbox.jobs.isEmpty, sources.isEmpty else { return nil }
      inbox.isStopped = true
      return inbox.stopWaiters
    }
    guard let waiting else { return false }
    timers.removeAll()
    endOfIterationActions = []
    thread.store(0, ordering: .relaxed)
    for one in waiting { one.resume() }
    return true
  }
}

/// Function that an event loop runs repeatedly. Safe to use from any thread.
package final class RepeatedLoopTask: Sendable {
  private let body: @Sendable () -> Void
  private let isCancelled = Atomic(false)

  fileprivate init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  /// Cancels further runs of the function; a run in progress continues.
  package func cancel() { isCancelled.store(true, ordering: .releasing) }

  /// Runs the function unless the task is cancelled.
  ///
  /// - Returns: Whether the function was run and is to be scheduled again.
  fileprivate func run() -> Bool {
    guard !isCancelled.load(ordering: .acquiring) else { return false }
    body()
    return true
  }
}

/// Value that only an event loop's thread may use. Other threads may store it and pass it on.
@usableFromInline
package struct OnLoop<Value>: @unchecked Sendable {
  @usableFromInline package let loop: SocketLoop
  @usableFromInline let held: Value

  @inlinable
  package init(_ value: Value, _ loop: SocketLoop) {
    held = value
    self.loop = loop
  }

  /// The value; may be read on the loop's thread only.
  @inlinable package var value: Value {
    loop.preconditionOnLoop()
    return held
  }
}
