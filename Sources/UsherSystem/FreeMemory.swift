import CSystemd

/// Memory that the allocator keeps after a burst of work.
package enum FreeMemory {
  /// The default threshold, in bytes. Less free memory than this stays with the allocator.
  package static let usual = 16 << 20

  /// Returns the allocator's free memory to the system if it is at least `kept` bytes.
  ///
  /// Then all of it is returned. Blocks for the duration of that.
  package static func release(keeping kept: Int = usual) { _ = usher_release_memory(kept) }
}
