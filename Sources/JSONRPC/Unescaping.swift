extension UnsafeRawBufferPointer {
  /// Returns a part of this buffer.
  ///
  /// The bounds are checked in release builds too, in case the offsets belong to another line.
  func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "offsets of another line")
    return UnsafeRawBufferPointer(rebasing: self[range])
  }

  /// Returns the unescaped bytes of a string that `Reader` has accepted.
  func unescaped(_ text: Text) -> [UInt8] {
    let source = part(text.range)
    guard text.isEscaped else { return Array(source) }
    var result: [UInt8] = []
    result.reserveCapacity(source.count)
    var at = 0
    while at < source.count {
      let end = source[at...].firstIndex(of: UInt8(ascii: "\\")) ?? source.count
      result.append(contentsOf: source[at..<end])
      at = end
      if at < source.count { result.append(contentsOf: source.escapedCharacter(at: &at)) }
    }
    return result
  }

  /// Returns the value of a JSON string that `Reader` has accepted, as a Swift string.
  func string(_ text: Text) -> String {
    if text.isEscaped { return String(decoding: unescaped(text), as: UTF8.self) }
    return String(decoding: part(text.range), as: UTF8.self)
  }

  /// Reads the escape that begins at `at`, and advances `at` behind it.
  ///
  /// - Returns: The character in UTF-8; empty if the text ends within the escape.
  func escapedCharacter(at: inout Int) -> UTF8.EncodedScalar {
    guard count - at >= 2 else {
      at = count
      return UTF8.EncodedScalar()
    }
    let letter = self[at + 1]
    guard letter == UInt8(ascii: "u") else {
      at += 2
      return UTF8.encode(Unicode.Scalar(Self.simpleEscape(letter) ?? letter))
        ?? UTF8.encodedReplacementCharacter
    }
    var unit = fourHexDigits(at: at + 2) ?? 0xFFFD
    at += 6
    if 0xD800...0xDBFF ~= unit, let low = fourHexDigits(at: at + 2) {
      unit = 0x10000 + (unit - 0xD800) << 10 + (low & 0x3FF)
      at += 6
    }
    let scalar = Unicode.Scalar(unit) ?? "\u{FFFD}"
    return UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
  }

  /// Returns the character for the letter after a backslash; nil if the letter is `u` or not valid.
  static func simpleEscape(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: nil
    }
  }

  /// Returns the code unit of four hexadecimal digits; nil if there are not four.
  func fourHexDigits(at start: Int) -> UInt32? {
    guard count - start >= 4 else { return nil }
    var unit: UInt32 = 0
    for index in start..<(start + 4) {
      let digit: UInt8
      switch self[index] {
      case let byte where byte &- 0x30 < 10: digit = byte &- 0x30
      case let byte where (byte | 0x20) &- 0x61 < 6: digit = (byte | 0x20) &- 0x61 + 10
      default: return nil
      }
      unit = unit << 4 | UInt32(digit)
    }
    return unit
  }
}
