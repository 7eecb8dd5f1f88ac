import CSystemd

/// Memory that the allocator keeps after a burst.
package enum FreeMemory {
  /// What is kept for the next calls.
  private static let kept = 16 << 20

  /// Gives it back to the system, where it is much. Blocks for as long as that takes.
  package static func release() { _ = usher_release_memory(kept) }
}
