import Glibc

/// Bytes that are added at the end and taken from the front. What is taken is wiped.
struct ByteQueue {
  private var bytes: [UInt8] = []
  /// Taken from the front so far.
  private var start = 0

  var count: Int { bytes.count - start }

  var isEmpty: Bool { start == bytes.count }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    // So that it does not grow without end where it is never empty.
    if start > bytes.count / 2 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes.append(contentsOf: more)
  }

  func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
  }

  mutating func removeFirst(_ count: Int) {
    bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[start..<(start + count)]).wipe() }
    start += count
    if isEmpty {
      bytes = []
      start = 0
    }
  }

  mutating func removeAll() { removeFirst(count) }
}

extension UnsafeRawBufferPointer {
  /// Overwrites bytes that nobody looks at again, whoever else holds them.
  func wipe() {
    guard let start = baseAddress else { return }
    explicit_bzero(UnsafeMutableRawPointer(mutating: start), count)
  }
}

extension [UInt8] {
  /// Overwrites them, and keeps the room.
  mutating func wipe() {
    withUnsafeBytes { $0.wipe() }
    removeAll(keepingCapacity: true)
  }
}
