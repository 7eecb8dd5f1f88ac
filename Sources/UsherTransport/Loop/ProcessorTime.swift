import Glibc
package import NIOCore

/// Processor time of threads.
package enum ProcessorTime {
  /// Returns the processor time of the calling thread since its start.
  package static func ofThread() -> TimeAmount {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .nanoseconds(Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
