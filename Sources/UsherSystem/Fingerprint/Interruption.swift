import CSystemd
import Glibc
import Synchronization

/// Wakes a thread that waits, once and permanently.
final class Interruption: Sendable {
  private let flag = Atomic(false)
  private let descriptor: Descriptor

  init() throws(Errno) { descriptor = try Descriptor(result: usher_eventfd()) }

  /// A descriptor that becomes readable with the interruption, so that poll(2) returns.
  var raw: CInt { descriptor.raw }

  var hasHappened: Bool { flag.load(ordering: .acquiring) }

  func interrupt() {
    flag.store(true, ordering: .releasing)
    var one: UInt64 = 1
    _ = write(descriptor.raw, &one, MemoryLayout.size(ofValue: one))
  }
}
