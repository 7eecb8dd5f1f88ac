import NIOCore
import UsherTransport

/// Returns how long the thread computed for `body`. Other programs on the machine do not change it.
package func processorTime(_ body: () throws -> Void) rethrows -> Duration {
  let begin = ProcessorTime.ofThread()
  try body()
  return .nanoseconds((ProcessorTime.ofThread() - begin).nanoseconds)
}
