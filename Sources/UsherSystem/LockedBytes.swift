import Glibc
import UsherCore

/// A few secret bytes in memory of their own: not swapped, not in core dumps, empty in a forked
/// child, wiped at the end.
///
/// Copies made of them elsewhere are not covered.
package final class LockedBytes: Sendable {
  /// Number of bytes.
  package let count: Int
  /// Whether the kernel keeps them out of swap. It refuses beyond `LimitMEMLOCK=`, which the daemon
  /// survives and `status` tells.
  package let isLocked: Bool
  /// Whether the kernel leaves them out of core dumps.
  package let isExcludedFromDumps: Bool

  private nonisolated(unsafe) let address: UnsafeMutableRawPointer
  private let mappedSize: Int

  /// - Parameters:
  ///   - count: How many bytes, at least 1.
  ///   - fill: Writes them, in place; they are zero before.
  /// - Throws: `internalError` where there is no memory, and whatever `fill` throws.
  package init(count: Int, fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
    precondition(count > 0)
    let page = sysconf(CInt(_SC_PAGESIZE))
    let size = (count + page - 1) / page * page
    let flags = MAP_PRIVATE | MAP_ANONYMOUS
    guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, flags, -1, 0), memory != MAP_FAILED
    else { throw Errno.last.explained("no memory for a secret") }
    self.count = count
    mappedSize = size
    address = memory
    isLocked = mlock(memory, size) == 0
    isExcludedFromDumps = madvise(memory, size, MADV_DONTDUMP) == 0
    _ = madvise(memory, size, MADV_WIPEONFORK)
    try fill(UnsafeMutableRawBufferPointer(start: memory, count: count))
  }

  deinit {
    explicit_bzero(address, mappedSize)
    munmap(address, mappedSize)
  }

  /// The bytes, valid only inside `body`.
  package func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(start: address, count: count))
  }
}

extension LockedBytes: CustomStringConvertible, CustomReflectable {
  package var description: String { "<secret>" }
  package var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}
