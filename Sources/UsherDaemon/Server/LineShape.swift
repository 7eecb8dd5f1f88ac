import Glibc

/// A call's line but for its id.
///
/// A line that the scanner took stays one when its id becomes another that is plain: a token of JSON
/// stands for a token, and no name and no nesting changes. So what has the same shape need not be
/// looked at again, and its params are the same.
struct LineShape: Sendable {
  /// Bytes of a line; of a longer one no shape is kept.
  static let longest = 1024
  /// Bytes of an id that is plain.
  static let longestID = 64

  private let head: [UInt8]
  private let tail: [UInt8]

  /// Nil where others like it are not to be known by it.
  ///
  /// - Parameters:
  ///   - line: Without its end, as the scanner took it.
  ///   - id: Where the call's id stands in it.
  init?(of line: UnsafeRawBufferPointer, id: Range<Int>) {
    guard line.count <= Self.longest, UnsafeRawBufferPointer(rebasing: line[id]).isPlainID else {
      return nil
    }
    head = Array(line[..<id.lowerBound])
    tail = Array(line[id.upperBound...])
  }

  /// The id of a line of this shape, as it stands in it; nil where it is of another one, or the id is
  /// not plain.
  func id(in line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let count = line.count - head.count - tail.count
    guard count > 0, count <= Self.longestID else { return nil }
    let id = UnsafeRawBufferPointer(rebasing: line[head.count..<(head.count + count)])
    let end = UnsafeRawBufferPointer(rebasing: line[(head.count + count)...])
    guard end.begins(with: tail), line.begins(with: head), id.isPlainID else { return nil }
    return id
  }
}

extension UnsafeRawBufferPointer {
  /// Whether it is a whole number without a sign, or a string of ASCII in which nothing is escaped.
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
