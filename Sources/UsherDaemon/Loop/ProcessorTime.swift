import Glibc
import NIOCore

/// How long a thread has had a processor.
enum ProcessorTime {
  /// The calling thread's, since it began.
  static func ofThread() -> TimeAmount {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .nanoseconds(Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
