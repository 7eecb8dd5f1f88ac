import CSystemd
import Glibc
import Synchronization

/// Ends another thread's waiting, once and for good.
final class Interruption: Sendable {
  private let flag = Atomic(false)
  private let descriptor: Descriptor

  init() throws(Errno) {
    let raw = usher_eventfd()
    guard raw >= 0 else { throw Errno(-raw) }
    descriptor = Descriptor(raw)
  }

  /// Can be read from the interruption on, so that poll(2) returns.
  var raw: CInt { descriptor.raw }

  var hasHappened: Bool { flag.load(ordering: .acquiring) }

  func interrupt() {
    flag.store(true, ordering: .releasing)
    var one: UInt64 = 1
    _ = write(descriptor.raw, &one, MemoryLayout.size(ofValue: one))
  }
}
