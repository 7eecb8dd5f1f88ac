import CSystemd

/// Memory that the allocator keeps after a burst.
package enum FreeMemory {
  /// What is kept for the next calls, in bytes.
  package static let usual = 16 << 20

  /// Gives it back to the system, if it is at least `kept` bytes. Blocks for as long as that
  /// takes.
  package static func release(keeping kept: Int = usual) { _ = usher_release_memory(kept) }
}
