import Dispatch
import Foundation
import NIOPosix

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

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    TaskDelays.delay { [self] in
      Self.pool.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
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
