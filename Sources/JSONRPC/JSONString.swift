extension [UInt8] {
  /// Appends `text` as a JSON string with quotes, in valid UTF-8. Only characters that JSON
  /// requires to be escaped are escaped (quote, backslash, U+0000…U+001F), so that equal strings
  /// give equal bytes.
  package mutating func appendJSONString(_ text: String) {
    var text = text
    append(UInt8(ascii: "\""))
    text.withUTF8 { appendEscaped(UnsafeRawBufferPointer($0)) }
    append(UInt8(ascii: "\""))
  }

  private mutating func appendEscaped(_ bytes: UnsafeRawBufferPointer) {
    var at = 0
    while at < bytes.count {
      let end = bytes.firstOffset(from: at) { $0.bytesToEscape }
      append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[at..<end]))
      if end < bytes.count { appendEscape(of: bytes[end]) }
      at = end + 1
    }
  }

  private mutating func appendEscape(of byte: UInt8) {
    append(UInt8(ascii: "\\"))
    switch byte {
    case 0x22, 0x5C: append(byte)
    case 0x08: append(UInt8(ascii: "b"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0C: append(UInt8(ascii: "f"))
    case 0x0D: append(UInt8(ascii: "r"))
    default:
      append("u00")
      append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
      append(byte & 15 < 10 ? 0x30 + byte & 15 : 0x57 + byte & 15)
    }
  }

  mutating func append(_ literal: StaticString) {
    append(
      contentsOf: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }
}
