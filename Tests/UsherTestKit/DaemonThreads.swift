import NIOPosix

/// The threads for the tasks of daemons in this process.
///
/// Swift's cooperative pool has only as many threads as there are processors, and tests compute on
/// them, so a daemon would have to wait.
final class DaemonThreads: TaskExecutor {
  static let shared = DaemonThreads()

  private let threads = NIOThreadPool(numberOfThreads: 4)

  private init() { threads.start() }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    threads.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
