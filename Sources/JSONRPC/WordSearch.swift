// Functions that search eight bytes at once. A result has the top bit of each matching byte set. It
// is zero only if no byte matches, and exact up to the first (lowest) match.
extension UInt64 {
  private static let eachByte: UInt64 = 0x0101_0101_0101_0101
  private static let topBits: UInt64 = 0x8080_8080_8080_8080

  @inline(__always)
  func bytesEqual(to byte: UInt8) -> UInt64 {
    let zeroWhereEqual = self ^ (Self.eachByte &* UInt64(byte))
    return (zeroWhereEqual &- Self.eachByte) & ~zeroWhereEqual & Self.topBits
  }

  /// Marks the bytes that must be escaped in a JSON string: control characters, the quote and the
  /// backslash.
  @inline(__always)
  var bytesToEscape: UInt64 {
    let control = (self &- (Self.eachByte &* 0x20)) & ~self & Self.topBits
    return control | bytesEqual(to: UInt8(ascii: "\"")) | bytesEqual(to: UInt8(ascii: "\\"))
  }

  /// Marks the bytes that ``bytesToEscape`` marks, and all bytes that are not ASCII.
  @inline(__always)
  var bytesToCheck: UInt64 { bytesToEscape | (self & Self.topBits) }
}

extension UnsafeRawBufferPointer {
  /// The offset of the first byte at or after `start` that `mask` marks; `count` if there is none.
  @inline(__always)
  func firstOffset(from start: Int, marked mask: (UInt64) -> UInt64) -> Int {
    let count = self.count
    var at = start
    while count - at >= 8 {
      let word = UInt64(littleEndian: loadUnaligned(fromByteOffset: at, as: UInt64.self))
      let found = mask(word)
      if found != 0 { return at + found.trailingZeroBitCount / 8 }
      at += 8
    }
    while at < count && mask(UInt64(self[at])) & 0x80 == 0 { at += 1 }
    return at
  }
}
