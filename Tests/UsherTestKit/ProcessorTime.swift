import Foundation
import Glibc

/// Returns how long the thread computed for `body`. Other programs on the machine do not change it.
package func processorTime(_ body: () throws -> Void) rethrows -> Duration {
  func now() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
  let begin = now()
  try body()
  return now() - begin
}
