import func Glibc.explicit_bzero

/// FIFO buffer of bytes. Removed bytes are overwritten, because they may contain secrets.
@usableFromInline
package struct ByteQueue {
  @usableFromInline var bytes: [UInt8] = []
  /// The number of bytes at the start of ``bytes`` that have been removed from the queue.
  @usableFromInline var start = 0

  package init() {}

  @inlinable package var count: Int { bytes.count - start }

  @inlinable package var isEmpty: Bool { start == bytes.count }

  package mutating func append(_ more: UnsafeRawBufferPointer) {
    // Removed bytes are dropped here, so that a queue that is never empty does not grow without
    // limit.
    if start > bytes.count / 2 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes.append(contentsOf: more)
  }

  @inlinable
  package func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
  }

  package mutating func removeFirst(_ count: Int) {
    bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[start..<(start + count)]).wipe() }
    start += count
    if isEmpty {
      bytes = []
      start = 0
    }
  }

  package mutating func removeAll() { removeFirst(count) }
}

extension UnsafeRawBufferPointer {
  /// Overwrites bytes that are not read again with zeros, even if they are shared with another
  /// variable: no copy on write happens.
  package func wipe() {
    guard let start = baseAddress else { return }
    explicit_bzero(UnsafeMutableRawPointer(mutating: start), count)
  }
}

extension [UInt8] {
  /// Overwrites the bytes with zeros and empties the array, keeping its capacity.
  package mutating func wipe() {
    withUnsafeBytes { $0.wipe() }
    removeAll(keepingCapacity: true)
  }
}
