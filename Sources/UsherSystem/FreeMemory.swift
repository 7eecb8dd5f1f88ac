import CSystemd

/// Memory that the C library's allocator keeps after a burst of work.
package enum FreeMemory {
  /// The default threshold in bytes: the allocator keeps its free memory if it is less than this.
  package static let defaultBytes = 16 << 20

  /// Returns all of the allocator's free memory to the kernel if it is at least `bytes` bytes.
  ///
  /// Blocks while the memory is returned.
  package static func release(keeping bytes: Int = defaultBytes) { _ = usher_release_memory(bytes) }
}
