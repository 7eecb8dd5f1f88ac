import NIOCore
import Synchronization
import UsherCore
import UsherSystem

/// The event loop of the daemon's sockets: one thread that waits, and does in turns what is due.
///
/// A turn is: all that is ready, what it was given to do, what ``atEachTurnsEnd(_:)`` was put off to,
/// timers. ``execute(_:)``, ``submit(_:)``, ``scheduleRepeatedTask(every:_:)`` and ``stop()`` are for
/// any thread, all else for the loop's own.
final class SocketLoop: @unchecked Sendable {
  /// Bytes of one read.
  static let roomBytes = 16_384

  private struct Inbox {
    var jobs: [@Sendable () -> Void] = []
    /// Whether the loop has been woken for them.
    var isRung = false
    var isOver = false
    var awaitsEnd: [CheckedContinuation<Void, Never>] = []
  }

  private let poller: Poller
  private let inbox = Mutex(Inbox())
  /// What ``inbox`` says, for a look without a lock.
  private let hasJobs = Atomic(false)
  /// The thread that turns it; 0 where none does.
  private let thread = Atomic<UInt>(0)

  // The rest is the loop's own.
  private var ready = ReadyList()
  private var sources = SourceTable()
  private let timers = LoopTimers()
  /// Nil: timers follow this machine's clock.
  private let shift: LoopTimeShift?
  private var turnsEnds: [() -> Void] = []
  private var isStopping = false
  /// Whether ``processorTimeBefore`` is looked at in each turn.
  var measuresTurns = false
  /// The processor time that the thread had had when the turn under way began, or before.
  private(set) var processorTimeBefore = TimeAmount.zero
  /// What is read lies here while it is looked at.
  private let room: UnsafeMutableRawBufferPointer

  /// - Throws: `internalError` where the process has no descriptors or threads left.
  init(timersMovedBy shift: LoopTimeShift? = nil) throws(UsherError) {
    self.shift = shift
    poller = try Poller()
    room = .allocate(byteCount: Self.roomBytes, alignment: 64)
    try LoopThread.start("usherd-sockets") { [self] in run() }
    shift?.onMove { [weak self] in self?.execute {} }
  }

  deinit { room.deallocate() }
}

// From any thread.
extension SocketLoop {
  /// What timers and durations of a loop are measured by; from any thread.
  static var now: NIODeadline { .now() }
  var now: NIODeadline { Self.now }

  var isOnLoop: Bool { thread.load(ordering: .relaxed) == LoopThread.current }

  /// Has the loop run `job`, after all that it was given before.
  ///
  /// - Returns: False where the loop has stopped: it is not run then.
  @discardableResult
  func execute(_ job: @escaping @Sendable () -> Void) -> Bool {
    let isHere = isOnLoop
    let (isTaken, rings) = inbox.withLock { inbox in
      guard !inbox.isOver else { return (false, false) }
      inbox.jobs.append(job)
      hasJobs.store(true, ordering: .releasing)
      // On the loop it is seen before the next wait.
      guard !isHere, !inbox.isRung else { return (true, false) }
      inbox.isRung = true
      return (true, true)
    }
    if rings { poller.ring() }
    return isTaken
  }

  /// What `body` answers on the loop.
  ///
  /// - Throws: `shuttingDown` where the loop has stopped; what `body` throws.
  func submit<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let isTaken = execute { continuation.resume(with: Result { try body() }) }
      if !isTaken { continuation.resume(throwing: UsherError.stopping) }
    }
  }

  /// Runs `body` at once, and again so long after each time, until it is cancelled.
  func scheduleRepeatedTask(
    every interval: TimeAmount, _ body: @escaping @Sendable () -> Void
  ) -> RepeatedLoopTask {
    let task = RepeatedLoopTask(body)
    execute { [self] in again(task, every: interval) }
    return task
  }

  /// Closes all that is open, runs what it was given before, and ends its thread; returns when that is
  /// done. Stopping twice is stopping once.
  func stop() async {
    await withCheckedContinuation { continuation in
      let isOver = inbox.withLock { inbox in
        if !inbox.isOver { inbox.awaitsEnd.append(continuation) }
        return inbox.isOver
      }
      if isOver { return continuation.resume() }
      execute { [self] in isStopping = true }
    }
  }

  /// What is only for the loop's own thread.
  func preconditionOnLoop() { precondition(isOnLoop, "not on the loop") }

  func assertOnLoop() { assert(isOnLoop, "not on the loop") }
}

// Timers and descriptors.
extension SocketLoop {
  /// Runs `body` at that time or as soon after as it can.
  func scheduleTask(deadline: NIODeadline, _ body: @escaping () -> Void) -> LoopTimer {
    assertOnLoop()
    return timers.add(deadline + ahead, body)
  }

  func scheduleTask(in delay: TimeAmount, _ body: @escaping () -> Void) -> LoopTimer {
    scheduleTask(deadline: now + delay, body)
  }

  /// Has every turn end with `body`, for as long as the loop runs.
  func atEachTurnsEnd(_ body: @escaping () -> Void) {
    assertOnLoop()
    turnsEnds.append(body)
  }

  /// - Returns: The key that it is watched under.
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

  /// What is told of it in this turn reaches nobody any more, whoever gets its number.
  func unwatch(_ socket: DirectSocket, key: UInt64) {
    assertOnLoop()
    sources.remove(key)
    poller.remove(socket)
  }

  /// Reads what there is, at most ``roomBytes``, and shows it to `look`, which keeps no pointer to it;
  /// then it is wiped.
  func receive(
    from socket: DirectSocket, _ look: (UnsafeRawBufferPointer) -> Void
  ) -> DirectSocket.Received {
    let received = socket.receive(into: room)
    guard case .bytes(let count) = received else { return received }
    let bytes = UnsafeRawBufferPointer(rebasing: room[..<count])
    look(bytes)
    bytes.wipe()
    return received
  }
}

// MARK: - Taking turns
extension SocketLoop {
  private func run() {
    thread.store(LoopThread.current, ordering: .relaxed)
    var now: NIODeadline?
    while !isStopping { now = turn(since: now) }
    repeat {
      for source in sources.all { source.close() }
      doJobs()
    } while !end()
  }

  /// - Parameter now: When it is, where that is known.
  /// - Returns: The same.
  private func turn(since now: NIODeadline?) -> NIODeadline? {
    poller.wait(&ready, nanoseconds: patience(now))
    if measuresTurns { processorTimeBefore = ProcessorTime.ofThread() }
    for index in 0..<ready.count {
      let (key, events) = ready[index]
      if key == Poller.bell { poller.silence() } else { sources[key]?.ready(events) }
    }
    doJobs()
    for end in turnsEnds { end() }
    return goOff()
  }

  /// Nanoseconds that there is nothing to do; negative where only others know.
  private func patience(_ now: NIODeadline?) -> Int64 {
    if hasJobs.load(ordering: .acquiring) || isStopping { return 0 }
    guard let next = timers.next else { return -1 }
    return max(0, (next - ((now ?? .now()) + ahead)).nanoseconds)
  }

  /// How far the timers are ahead of the clock.
  private var ahead: TimeAmount { shift?.ahead ?? .nanoseconds(0) }

  private func doJobs() {
    guard hasJobs.load(ordering: .acquiring) else { return }
    let jobs = inbox.withLock { inbox in
      var jobs: [@Sendable () -> Void] = []
      swap(&jobs, &inbox.jobs)
      inbox.isRung = false
      hasJobs.store(false, ordering: .relaxed)
      return jobs
    }
    for job in jobs { job() }
  }

  /// - Returns: When it is, where that is known.
  private func goOff() -> NIODeadline? {
    guard timers.next != nil else { return nil }
    let now = self.now
    let due = now + ahead
    guard var body = timers.pop(at: due) else { return now }
    while true {
      body()
      // What is planned meanwhile for now is the next turn's.
      guard let next = timers.pop(at: due) else { return nil }
      body = next
    }
  }

  private func again(_ task: RepeatedLoopTask, every interval: TimeAmount) {
    guard task.run() else { return }
    _ = scheduleTask(in: interval) { [self] in again(task, every: interval) }
  }

  /// - Returns: False where there is more to do.
  private func end() -> Bool {
    let waiting: [CheckedContinuation<Void, Never>]? = inbox.withLock { inbox in
      guard inbox.jobs.isEmpty, sources.isEmpty else { return nil }
      inbox.isOver = true
      return inbox.awaitsEnd
    }
    guard let waiting else { return false }
    timers.removeAll()
    turnsEnds = []
    thread.store(0, ordering: .relaxed)
    for one in waiting { one.resume() }
    return true
  }
}

/// What a loop does again and again. For any thread.
final class RepeatedLoopTask: Sendable {
  private let body: @Sendable () -> Void
  private let isCancelled = Atomic(false)

  fileprivate init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  /// It may be under way, and then does not come again.
  func cancel() { isCancelled.store(true, ordering: .releasing) }

  /// - Returns: Whether it comes again.
  fileprivate func run() -> Bool {
    guard !isCancelled.load(ordering: .acquiring) else { return false }
    body()
    return true
  }
}

/// Something that belongs to a loop's thread, to be handed there through others.
struct OnLoop<Value>: @unchecked Sendable {
  let loop: SocketLoop
  private let held: Value

  init(_ value: Value, _ loop: SocketLoop) {
    held = value
    self.loop = loop
  }

  /// On the loop only.
  var value: Value {
    loop.preconditionOnLoop()
    return held
  }
}
