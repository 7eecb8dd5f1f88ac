import Synchronization
import UsherCore

/// The RPC calls that wait for the disk, a provider or a person. When the daemon is locked, all of
/// them are answered with `locked` at once.
final class InFlightCalls: Sendable {
  typealias Body<Reply> = @Sendable () async throws(UsherError) -> Reply

  private struct State {
    var isStopped = false
    var next = 0
    var running: [Int: InFlightCall] = [:]
  }

  private struct InFlightCall {
    let refuse: @Sendable () -> Void
    var task: Task<Void, Never>?
  }

  private let dependencies: Dependencies
  private let state = Mutex(State())

  init(dependencies: Dependencies) { self.dependencies = dependencies }

  /// Runs an RPC call until its reply, or until the daemon is locked.
  ///
  /// - Throws: `locked` if the daemon is locked in the meantime; errors of `body`.
  func run<Reply: Sendable>(_ body: @escaping Body<Reply>) async throws(UsherError) -> Reply {
    let pending = PendingOutcome<Reply>()
    let number = state.withLock { state -> Int? in
      guard !state.isStopped else { return nil }
      state.next += 1
      state.running[state.next] = InFlightCall { pending.resolve(.failure(.locked)) }
      return state.next
    }
    guard let number else { throw .locked }
    let task = Task(executorPreference: dependencies.executor) { [self] in
      pending.resolve(await Result(awaiting: body))
      state.withLock { _ = $0.running.removeValue(forKey: number) }
    }
    setTask(task, number)
    let outcome = await withTaskCancellationHandler {
      await pending.value()
    } onCancel: {
      task.cancel()
    }
    return try outcome.get()
  }

  /// Returns the same response, but with each part that waits run by ``run(_:)``.
  func track(_ response: Response) -> Response {
    switch response {
    case .now, .cacheable: response
    case .later(let body): .later { () async throws(UsherError) in try await self.run(body) }
    case .cold(let read):
      .cold { () async throws(UsherError) in self.track(try await self.run(read)) }
    case .resumed(let body):
      .resumed { call throws(UsherError) in
        if self.state.withLock({ $0.isStopped }) { throw .locked }
        return self.track(try body(call))
      }
    }
  }

  /// Stores the task of an RPC call, and cancels it if the daemon was locked since the task was
  /// created.
  private func setTask(_ task: Task<Void, Never>, _ number: Int) {
    let isStopped = state.withLock { state in
      state.running[number]?.task = task
      return state.isStopped
    }
    if isStopped { task.cancel() }
  }

  /// Answers all calls with `locked`, present and future ones, and cancels their tasks.
  func end() {
    let running = state.withLock { state in
      state.isStopped = true
      return Array(state.running.values)
    }
    for call in running {
      call.refuse()
      call.task?.cancel()
    }
  }

  /// Returns when the tasks of all calls have ended, or after `limit`, because some waits cannot be
  /// cancelled.
  func waitUntilEmpty(atMost limit: Duration) async {
    let tasks = state.withLock { $0.running.values.compactMap(\.task) }
    let latch = AsyncLatch()
    Task(executorPreference: dependencies.executor) {
      for task in tasks { await task.value }
      latch.open()
    }
    await dependencies.scheduler.wait(for: latch, atMost: limit)
  }
}

/// The outcome of an RPC call: its own, or the error `locked` if the daemon is locked before that.
private final class PendingOutcome<Reply: Sendable>: Sendable {
  typealias Outcome = Result<Reply, UsherError>

  private struct State {
    var outcome: Outcome?
    var waiting: CheckedContinuation<Outcome, Never>?
  }

  private let state = Mutex(State())

  func resolve(_ outcome: Outcome) {
    let waiting = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
      guard state.outcome == nil else { return nil }
      state.outcome = outcome
      return exchange(&state.waiting, with: nil)
    }
    waiting?.resume(returning: outcome)
  }

  func value() async -> Outcome {
    await withCheckedContinuation { continuation in
      let outcome = state.withLock { state in
        if state.outcome == nil { state.waiting = continuation }
        return state.outcome
      }
      if let outcome { continuation.resume(returning: outcome) }
    }
  }
}

extension Result {
  /// Runs an asynchronous function and stores its outcome.
  init(awaiting body: () async throws(Failure) -> Success) async {
    do throws(Failure) {
      self = .success(try await body())
    } catch {
      self = .failure(error)
    }
  }
}

extension UsherError {
  /// Error for callers while the daemon is locked.
  static let locked = UsherError(.locked, "usherd is locked")
}
