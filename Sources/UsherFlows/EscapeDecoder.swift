/// Decodes one level of the escapes of URLs, HTML and JSON in a text, to find a secret that is
/// spelled with them. Other text stays as it is.
struct EscapeDecoder {
  /// The HTML names of the characters that occur in tokens (HTML standard §13.5).
  private static let entities: [String: UInt8] = [
    "amp": 0x26, "apos": 0x27, "ast": 0x2A, "bsol": 0x5C, "colon": 0x3A, "comma": 0x2C,
    "commat": 0x40, "dollar": 0x24, "equals": 0x3D, "excl": 0x21, "grave": 0x60, "gt": 0x3E,
    "hat": 0x5E, "lowbar": 0x5F, "lpar": 0x28, "lsqb": 0x5B, "lt": 0x3C, "num": 0x23,
    "percnt": 0x25, "period": 0x2E, "plus": 0x2B, "quest": 0x3F, "quot": 0x22, "rpar": 0x29,
    "rsqb": 0x5D, "semi": 0x3B, "sol": 0x2F, "vert": 0x7C,
  ]

  private let text: [UInt8]
  private var place = 0
  private var result: [UInt8] = []

  init(_ text: [UInt8]) { self.text = text }

  mutating func decoded() -> [UInt8] {
    result.reserveCapacity(text.count)
    while let byte = byte(at: 0) {
      let isDecoded =
        switch byte {
        case UInt8(ascii: "%"): decodePercent()
        case UInt8(ascii: "&"): decodeEntity()
        case UInt8(ascii: "\\"): decodeBackslash()
        default: false
        }
      guard !isDecoded else { continue }
      result.append(byte)
      place += 1
    }
    return result
  }

  private func byte(at offset: Int) -> UInt8? {
    place + offset < text.count ? text[place + offset] : nil
  }

  /// Decodes an escape of a URL: `%2B`, or the non-standard form `%u002B`. Returns false if none
  /// begins here.
  private mutating func decodePercent() -> Bool {
    if byte(at: 1) == UInt8(ascii: "u") { return decodeHex(from: 2, digits: 4) }
    guard let code = number(from: 1, radix: 16, maxDigits: 2), code.digits == 2 else {
      return false
    }
    result.append(UInt8(code.value))
    place += 3
    return true
  }

  /// Decodes the escape that begins at a backslash: `\u002B`, `\x2B`, `\/`, `\n` and the other
  /// one-letter escapes of JSON and JavaScript. Returns false if no such escape begins there.
  private mutating func decodeBackslash() -> Bool {
    switch byte(at: 1) {
    case UInt8(ascii: "u"): return decodeHex(from: 2, digits: 4)
    case UInt8(ascii: "x"): return decodeHex(from: 2, digits: 2)
    case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"):
      result.append(text[place + 1])
    case UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"),
      UInt8(ascii: "t"):
      result.append(UInt8(ascii: " "))
    default: return false
    }
    place += 2
    return true
  }

  /// Decodes a character reference of HTML: `&#43;`, `&#x2B;` or `&plus;`. A numeric one may lack
  /// the semicolon. Returns false if none begins here.
  private mutating func decodeEntity() -> Bool {
    if byte(at: 1) == UInt8(ascii: "#") {
      let isHex = byte(at: 2).map { $0 | 0x20 } == UInt8(ascii: "x")
      let start = isHex ? 3 : 2
      guard let code = number(from: start, radix: isHex ? 16 : 10, maxDigits: 7) else {
        return false
      }
      let end = start + code.digits
      return append(code.value, length: byte(at: end) == UInt8(ascii: ";") ? end + 1 : end)
    }
    let name = text[(place + 1)...].prefix(7).prefix { $0 != UInt8(ascii: ";") }
    guard byte(at: name.count + 1) == UInt8(ascii: ";"),
      let code = Self.entities[String(decoding: name, as: UTF8.self)]
    else { return false }
    return append(UInt32(code), length: name.count + 2)
  }

  private mutating func decodeHex(from offset: Int, digits: Int) -> Bool {
    guard let code = number(from: offset, radix: 16, maxDigits: digits), code.digits == digits
    else {
      return false
    }
    return append(code.value, length: offset + digits)
  }

  private mutating func append(_ code: UInt32, length: Int) -> Bool {
    guard let scalar = Unicode.Scalar(code) else { return false }
    result += String(scalar).utf8
    place += length
    return true
  }

  /// Reads a number of at most `maxDigits` digits.
  ///
  /// - Returns: Nil if there is no digit.
  private func number(from offset: Int, radix: UInt32, maxDigits: Int) -> (
    value: UInt32, digits: Int
  )? {
    var value: UInt32 = 0
    var digits = 0
    while digits < maxDigits, let byte = byte(at: offset + digits),
      let digit = Character(Unicode.Scalar(byte)).hexDigitValue, digit < radix
    {
      value = value * radix + UInt32(digit)
      digits += 1
    }
    return digits > 0 ? (value, digits) : nil
  }
}
