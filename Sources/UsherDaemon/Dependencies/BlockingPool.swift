import Dispatch

/// Threads for functions that block, such as reading files or the user database, or that compute
/// for a long time. Such functions must not run on event loops or on the threads of Swift tasks.
package protocol BlockingPool: Sendable {
  /// Starts `body` on another thread and returns at once.
  func start(_ body: @escaping @Sendable () -> Void)
}

extension BlockingPool {
  func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result = await withCheckedContinuation { continuation in
      start { continuation.resume(returning: Result { () throws(Failure) in try body() }) }
    }
    return try result.get()
  }
}

/// The threads of a concurrent dispatch queue. Their number grows with the number of blocked
/// functions.
final class DispatchPool: BlockingPool {
  static let blocking = DispatchPool("usherd.blocking")
  static let computing = DispatchPool("usherd.computing")

  private let queue: DispatchQueue

  private init(_ label: String) { queue = DispatchQueue(label: label, attributes: .concurrent) }

  func start(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }
}
