import FoundationEssentials

/// Base64 as JOSE and OAuth write it (RFC 4648 §5), and as HTTP Basic does (§4).
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

  /// Nil for anything but padded base64.
  package static func decoded(_ text: String) -> [UInt8]? {
    Data(base64Encoded: text).map(Array.init)
  }
}

enum Hex {
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
