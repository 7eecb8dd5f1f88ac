import FoundationEssentials

/// Base64 with the URL-safe alphabet and without padding (RFC 7515 §2).
package enum Base64URL {
  package static func encode(_ bytes: some Sequence<UInt8>) -> String {
    let standard = Data(bytes).base64EncodedData().compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      case UInt8(ascii: "="): nil
      default: byte
      }
    }
    return String(decoding: standard, as: UTF8.self)
  }

  /// Returns the decoded bytes; nil for anything that ``encode(_:)`` does not produce: padding,
  /// white space, characters of the standard alphabet, leftover bits.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var standard = text.utf8.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: byte
      }
    }
    while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
    guard let data = Data(base64Encoded: Data(standard)) else { return nil }
    let bytes = [UInt8](data)
    return encode(bytes) == String(text) ? bytes : nil
  }
}
