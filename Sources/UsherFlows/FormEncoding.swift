/// Encodes and decodes `application/x-www-form-urlencoded` (WHATWG URL standard, RFC 6749 appendix
/// B).
package enum FormEncoding {
  /// Encodes names and values in the given order: `a=1&b=x+y`.
  package static func encode(_ fields: [(name: String, value: String)]) -> String {
    fields.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
  }

  /// Encodes one name or value: every character except letters, digits and `*-._` is escaped; a
  /// space becomes `+`.
  package static func encode(_ text: String) -> String {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: " "): encoded.append(UInt8(ascii: "+"))
      case _ where isPlain(byte): encoded.append(byte)
      default:
        encoded.append(UInt8(ascii: "%"))
        encoded.append(hexDigits[Int(byte >> 4)])
        encoded.append(hexDigits[Int(byte & 15)])
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Returns the fields of an encoded text in order, including repeated ones; empty pieces are
  /// skipped.
  ///
  /// Returns nil if an escape is malformed or the result is not UTF-8.
  package static func decode(_ text: some StringProtocol) -> [(name: String, value: String)]? {
    var fields: [(name: String, value: String)] = []
    for piece in text.utf8.split(separator: UInt8(ascii: "&")) {
      let parts = piece.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = decodePiece(parts[0]) else { return nil }
      guard let value = parts.count == 2 ? decodePiece(parts[1]) : "" else { return nil }
      fields.append((name, value))
    }
    return fields
  }

  private static let hexDigits = Array("0123456789ABCDEF".utf8)

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte.isLetter || byte.isDigit || "*-._".utf8.contains(byte)
  }

  private static func decodePiece(_ bytes: some Sequence<UInt8>) -> String? {
    var decoded: [UInt8] = []
    var iterator = bytes.makeIterator()
    while let byte = iterator.next() {
      switch byte {
      case UInt8(ascii: "+"): decoded.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = iterator.next().flatMap(hexValue),
          let low = iterator.next().flatMap(hexValue)
        else { return nil }
        decoded.append(high << 4 | low)
      default: decoded.append(byte)
      }
    }
    return String(validating: decoded, as: UTF8.self)
  }

  private static func hexValue(_ digit: UInt8) -> UInt8? {
    Character(Unicode.Scalar(digit)).hexDigitValue.map { UInt8($0) }
  }
}
