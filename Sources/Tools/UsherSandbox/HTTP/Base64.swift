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

  /// Decodes base64url without padding; nil for any other text.
  static func decodedURL(_ text: some StringProtocol) -> [UInt8]? {
    guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
    let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    return decoded(standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
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
