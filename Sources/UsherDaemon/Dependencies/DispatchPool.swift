import Dispatch
import UsherCore

/// The threads of a concurrent dispatch queue. Their number grows with the number of blocked
/// functions.
final class DispatchPool: BlockingPool {
  static let blocking = DispatchPool("usherd.blocking")
  static let computing = DispatchPool("usherd.computing")

  private let queue: DispatchQueue

  private init(_ label: String) { queue = DispatchQueue(label: label, attributes: .concurrent) }

  func start(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }
}
