import FoundationEssentials

/// Base64 in the URL-safe alphabet of JOSE and OAuth (RFC 4648 §5) and the standard one of HTTP
/// Basic (RFC 4648 §4).
package enum Base64 {
  package static func url(_ bytes: some Sequence<UInt8>) -> String {
    let plain = Data(bytes).base64EncodedString()
    return String(
      plain.compactMap { character in
        switch character {
        case "+": "-"
        case "/": "_"
        case "=": nil
        default: character
        }
      })
  }

  /// Decodes padded standard base64; nil for any other text.
  package static func decoded(_ text: String) -> [UInt8]? {
    Data(base64Encoded: text).map(Array.init)
  }
}

enum Hex {
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
