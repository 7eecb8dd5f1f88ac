import Glibc

/// Runs each job on a thread of its own, for closures of an app that may block.
///
/// Swift's concurrent executor has only as many threads as there are processors. As many blocked
/// closures would stop every call of this library.
final class HandlerThread: TaskExecutor {
  static let executor = HandlerThread()

  private final class Box {
    let job: UnownedJob

    init(_ job: UnownedJob) { self.job = job }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let box = Unmanaged.passRetained(Box(UnownedJob(job)))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    defer { pthread_attr_destroy(&attributes) }
    var thread = pthread_t()
    let status = pthread_create(
      &thread, &attributes,
      { argument in
        guard let argument else { return nil }
        let box = Unmanaged<Box>.fromOpaque(argument).takeRetainedValue()
        box.job.runSynchronously(on: HandlerThread.executor.asUnownedTaskExecutor())
        return nil
      }, box.toOpaque())
    // The process has as many threads as it may have: the job waits for none, and runs here.
    if status != 0 {
      box.takeRetainedValue().job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
