import Dispatch
import UsherCore

/// Runs blocking functions on threads of the global dispatch queue.
package struct TestPool: BlockingPool {
  package init() {}

  package func start(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().async(execute: body)
  }
}
