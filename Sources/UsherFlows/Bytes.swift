// Small questions about text that others wrote.

extension UInt8 {
  var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  /// Printable ASCII without the space (VSCHAR of RFC 6749 appendix A, less the space).
  var isVisible: Bool { (0x21...0x7E).contains(self) }
}
