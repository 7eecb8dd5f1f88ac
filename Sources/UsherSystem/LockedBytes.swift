import Glibc
import UsherCore

/// A few secret bytes, such as a key, on memory pages of their own.
///
/// The kernel is asked not to swap the pages, not to write them to core dumps, and to zero them in
/// a forked child. They are wiped when the object is destroyed. Copies of the bytes elsewhere are
/// not protected.
package final class LockedBytes: Sendable {
  package let count: Int
  /// Whether the kernel keeps the bytes out of swap. It refuses if the process has already locked
  /// `LimitMEMLOCK=` bytes. The daemon then continues, and the RPC method `status` reports it.
  package let isLocked: Bool
  /// Whether the kernel leaves the bytes out of core dumps; see MADV_DONTDUMP in madvise(2).
  package let isExcludedFromDumps: Bool

  private nonisolated(unsafe) let address: UnsafeMutableRawPointer
  private let mappedSize: Int

  /// Allocates the pages and fills the bytes.
  ///
  /// - Parameters:
  ///   - count: The number of bytes, at least 1.
  ///   - fill: Writes the bytes in place. They are zero before.
  /// - Throws: `internalError` if there is no memory, and every error of `fill`.
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

  /// Calls `body` with the bytes, which are valid only during the call.
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
