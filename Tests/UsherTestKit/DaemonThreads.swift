import NIOPosix

/// The threads on which daemons in this process run their tasks.
///
/// Swift's own threads are as few as there are processors, and tests compute on them: a daemon would
/// wait behind them.
final class DaemonThreads: TaskExecutor {
  static let shared = DaemonThreads()

  private let threads = NIOThreadPool(numberOfThreads: 4)

  private init() { threads.start() }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    threads.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
