/// Decodes Base32 (RFC 4648 §6) as people and servers write it: in any case, with or without blanks
/// and padding.
enum Base32 {
  /// Decodes the text.
  ///
  /// - Returns: Nil if the text is not Base32: other characters, padding in the middle, a length
  ///   that makes no whole bytes, leftover bits that are not zero.
  static func decode(_ text: String) -> [UInt8]? {
    let plain = text.utf8.filter { $0 != UInt8(ascii: " ") }
    let digits = plain.prefix { $0 != UInt8(ascii: "=") }
    guard plain.dropFirst(digits.count).allSatisfy({ $0 == UInt8(ascii: "=") }),
      // A last group of 1, 3 or 6 characters cannot encode whole bytes.
      ![1, 3, 6].contains(digits.count % 8)
    else { return nil }
    var bytes: [UInt8] = []
    var bits = 0
    var count = 0
    for digit in digits {
      guard let value = value(of: digit) else { return nil }
      bits = (bits << 5 | value) & 0xFFF
      count += 5
      guard count >= 8 else { continue }
      count -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> count))
    }
    guard bits & ((1 << count) - 1) == 0 else { return nil }
    return bytes
  }

  private static func value(of digit: UInt8) -> Int? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(digit - UInt8(ascii: "a"))
    case UInt8(ascii: "2")...UInt8(ascii: "7"): Int(digit - UInt8(ascii: "2")) + 26
    default: nil
    }
  }
}
