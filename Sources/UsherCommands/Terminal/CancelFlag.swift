import Synchronization

/// Tells a blocking thread that its task was cancelled.
final class CancelFlag: Sendable {
  private let value = Atomic(false)
  var isRaised: Bool { value.load(ordering: .relaxed) }
  func raise() { value.store(true, ordering: .relaxed) }
}
