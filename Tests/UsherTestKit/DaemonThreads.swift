import Dispatch
import Foundation
import NIOPosix
import Synchronization

/// The threads for the tasks of a daemon in this process.
///
/// Swift's cooperative pool has only as many threads as there are processors, and tests compute on
/// them, so a daemon would have to wait.
final class DaemonThreads: TaskExecutor {
  private static let pool = {
    let pool = NIOThreadPool(numberOfThreads: 4)
    pool.start()
    return pool
  }()

  private struct State {
    var running = 0
    /// The number of calls of ``pause(_:)``.
    var pauses = 0
    /// The jobs that run after the pauses.
    var held: [UnownedJob] = []
  }

  private let state = Mutex(State())

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    TaskDelays.delay { [self] in submit(job) }
  }

  private func submit(_ job: UnownedJob) {
    Self.pool.submit { [self] _ in
      let isHeld = state.withLock { state in
        if state.pauses > 0 { state.held.append(job) } else { state.running += 1 }
        return state.pauses > 0
      }
      if isHeld { return }
      job.runSynchronously(on: asUnownedTaskExecutor())
      state.withLock { $0.running -= 1 }
    }
  }

  /// Runs `body` while no job runs. Must not be called by a job.
  ///
  /// - Throws: ``TestError`` if the running jobs do not end in time; also the error of `body`.
  func pause(_ body: () throws -> Void) throws {
    state.withLock { $0.pauses += 1 }
    defer {
      let jobs = state.withLock { state in
        state.pauses -= 1
        guard state.pauses == 0 else { return [UnownedJob]() }
        defer { state.held = [] }
        return state.held
      }
      for job in jobs { submit(job) }
    }
    let isIdle = TestDeadline().isMet { isLast in
      if state.withLock({ $0.running == 0 }) { return true }
      if !isLast { poll(nil, 0, 1) }
      return false
    }
    guard isIdle else { throw TestError("a task of the daemon runs for too long") }
    try body()
  }
}

/// Delays half of the jobs of the daemon's tasks, each by a random time, so that a test which
/// expects the result of a task without waiting for it fails on an idle machine too.
///
/// Only if `USHER_TEST_DELAYS` is set. It has the longest delay in milliseconds.
package final class TaskDelays: TaskExecutor {
  /// Nil if jobs are not to be delayed.
  package static let executor = longest > 0 ? TaskDelays() : nil

  private static let longest =
    ProcessInfo.processInfo.environment["USHER_TEST_DELAYS"].flatMap { Int($0) } ?? 0

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let run = { @Sendable in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    Self.delay { DispatchQueue.global().async(execute: run) }
  }

  /// Runs `body` now or later.
  static func delay(_ body: @escaping @Sendable () -> Void) {
    guard longest > 0, Bool.random() else { return body() }
    DispatchQueue.global().asyncAfter(
      deadline: .now() + .milliseconds(.random(in: 1...longest)), execute: body)
  }
}
