import Dispatch
import UsherCore

/// Threads of the dispatch library.
final class DispatchPool: BlockingPool {
  /// A thread for each function, so that no function that blocks delays another one or a task.
  static let blocking = DispatchPool("usherd.blocking", sharesThreads: false)
  /// As many threads as there are processors. They are shared with Swift's tasks.
  static let computing = DispatchPool("usherd.computing", sharesThreads: true)

  private let label: String
  /// The queue of all functions; nil if each function gets a queue of its own. The dispatch library
  /// starts a thread at once for a serial queue that has work. For concurrent queues it starts as
  /// many threads as there are processors, and another one only if those have blocked for a second.
  private let queue: DispatchQueue?

  private init(_ label: String, sharesThreads: Bool) {
    self.label = label
    queue = sharesThreads ? DispatchQueue(label: label, attributes: .concurrent) : nil
  }

  func start(_ body: @escaping @Sendable () -> Void) {
    (queue ?? DispatchQueue(label: label)).async(execute: body)
  }
}
