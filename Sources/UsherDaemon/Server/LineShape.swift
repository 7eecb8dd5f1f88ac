import func Glibc.memcmp

/// The bytes of a call's line except its id.
///
/// A line that the scanner accepted stays valid if its id is replaced by another plain id: one JSON
/// token replaces another, and neither names nor nesting change. So a line of the same shape need
/// not be scanned again, and its params are the same.
struct LineShape: Sendable {
  /// The maximum length in bytes of a line whose shape is stored.
  static let maxBytes = 1024
  /// The maximum length in bytes of a plain id.
  static let maxIDBytes = 64

  private let head: [UInt8]
  private let tail: [UInt8]

  /// Creates the shape of a line. Returns nil if the line is too long or its id is not plain.
  ///
  /// - Parameters:
  ///   - line: The line, as the scanner accepted it, without its line end.
  ///   - id: The position of the call's id in the line.
  init?(of line: UnsafeRawBufferPointer, id: Range<Int>) {
    guard line.count <= Self.maxBytes, UnsafeRawBufferPointer(rebasing: line[id]).isPlainID else {
      return nil
    }
    head = Array(line[..<id.lowerBound])
    tail = Array(line[id.upperBound...])
  }

  /// Returns the bytes of the id in a line of this shape; nil if the line has another shape or its
  /// id is not plain.
  func id(in line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let count = line.count - head.count - tail.count
    guard count > 0, count <= Self.maxIDBytes else { return nil }
    let id = UnsafeRawBufferPointer(rebasing: line[head.count..<(head.count + count)])
    let end = UnsafeRawBufferPointer(rebasing: line[(head.count + count)...])
    guard end.begins(with: tail), line.begins(with: head), id.isPlainID else { return nil }
    return id
  }
}

extension UnsafeRawBufferPointer {
  /// Whether these bytes are a plain id: an unsigned integer, or an ASCII string without escapes.
  fileprivate var isPlainID: Bool {
    let first = self[0]
    if first == UInt8(ascii: "\"") {
      return count > 1 && last == first && self[1..<(count - 1)].allSatisfy(\.isPlain)
    }
    return allSatisfy { $0 &- UInt8(ascii: "0") < 10 } && (first != UInt8(ascii: "0") || count == 1)
  }

  fileprivate func begins(with bytes: [UInt8]) -> Bool {
    guard count >= bytes.count, let start = baseAddress else { return bytes.isEmpty }
    return bytes.withUnsafeBytes { part in
      part.baseAddress.map { memcmp(start, $0, part.count) == 0 } ?? true
    }
  }
}

extension UInt8 {
  fileprivate var isPlain: Bool {
    self >= 0x20 && self < 0x7F && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
  }
}
