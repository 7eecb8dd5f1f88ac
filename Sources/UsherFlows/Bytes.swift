// Character classes for bytes of text from outside.

import JSONRPC
import UsherCore

extension UInt8 {
  var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  /// Whether the byte is printable ASCII other than the space (0x21 to 0x7E).
  var isVisible: Bool { (0x21...0x7E).contains(self) }
}

extension String {
  /// Returns whether the text has 1 to `limit` bytes, all of them printable ASCII other than the
  /// space, so that it can be sent in a header unchanged.
  func isVisible(upTo limit: Int) -> Bool {
    (1...limit).contains(utf8.count) && utf8.allSatisfy(\.isVisible)
  }
}

extension JSONValue {
  /// The text of an integer or a string, the two forms in which servers write codes; nil for any
  /// other value and for an empty text.
  var codeText: String? {
    let text = integerValue.map { String($0) } ?? stringValue
    return text?.isEmpty == false ? text : nil
  }

  /// Returns the text if it consists of 1 to `limit` visible bytes, as in
  /// `isVisible(upTo:)`; nil otherwise.
  func visibleText(upTo limit: Int) -> String? {
    stringValue.flatMap { $0.isVisible(upTo: limit) ? $0 : nil }
  }
}

extension [UInt8] {
  /// Returns a UUID of these 16 bytes, with the bits of the version and the variant set (RFC 9562
  /// §5).
  func uuid(version: UInt8) -> String {
    var bytes = self
    bytes[6] = bytes[6] & 0x0F | version << 4
    bytes[8] = bytes[8] & 0x3F | 0x80
    let digits = [Character](bytes.hexadecimal)
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
      .joined(separator: "-")
  }
}
