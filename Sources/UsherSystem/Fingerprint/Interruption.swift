import CSystemd
import Glibc
import Synchronization

/// A one-time event that wakes a thread which waits in poll(2). Once it has happened, it ends every
/// later wait at once.
final class Interruption: Sendable {
  private let flag = Atomic(false)
  private let descriptor: Descriptor

  init() throws(Errno) { descriptor = try Descriptor(result: usher_eventfd()) }

  /// A descriptor for poll(2) that becomes readable, and stays so, when the interruption happens.
  var raw: CInt { descriptor.raw }

  var hasHappened: Bool { flag.load(ordering: .acquiring) }

  func interrupt() {
    flag.store(true, ordering: .releasing)
    var one: UInt64 = 1
    _ = write(descriptor.raw, &one, MemoryLayout.size(ofValue: one))
  }
}
