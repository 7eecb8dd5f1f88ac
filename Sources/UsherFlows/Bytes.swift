// Character classes for bytes of text from outside.

extension UInt8 {
  var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  /// Whether the byte is printable ASCII other than the space (VSCHAR of RFC 6749 appendix A,
  /// without it).
  var isVisible: Bool { (0x21...0x7E).contains(self) }
}
