import JSONRPC
import UsherSandbox

/// A signed token (RFC 7515), of which the checks read what the provider verifies.
struct UnverifiedToken {
  let header: JSONValue
  let claims: JSONValue

  /// Reads a token; nil if the text is none.
  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1])
    else { return nil }
    self.header = header
    self.claims = claims
  }

  /// The id by which a provider notices that it gets the token a second time; nil if there is none.
  var id: String? { claims["jti"]?.stringValue }

  /// The public key in the header of a proof (RFC 9449 §4.2); nil if there is none.
  var key: String? {
    guard let x = header["jwk"]?["x"]?.stringValue, let y = header["jwk"]?["y"]?.stringValue else {
      return nil
    }
    return "\(x).\(y)"
  }

  private static func object(_ part: Substring) -> JSONValue? {
    var text = part.replacing("-", with: "+").replacing("_", with: "/")
    text += String(repeating: "=", count: (4 - text.count % 4) % 4)
    return try? JSONValue(parsing: Base64.decoded(String(text)) ?? [])
  }
}
