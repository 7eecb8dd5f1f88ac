import Dispatch

/// Threads for functions that block, such as a look at files or at the user database, or that compute
/// for long. No event loop and no task of the daemon waits on its own thread for one of them.
package protocol BlockingPool: Sendable {
  /// Begins `body` on another thread and returns.
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

/// The threads of a concurrent dispatch queue: as many as there are functions that block.
final class DispatchPool: BlockingPool {
  static let blocking = DispatchPool("usherd.blocking")
  static let computing = DispatchPool("usherd.computing")

  private let queue: DispatchQueue

  private init(_ label: String) { queue = DispatchQueue(label: label, attributes: .concurrent) }

  func start(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }
}
