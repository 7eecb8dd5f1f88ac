import JSONRPC
import UsherCore

/// Reads and writes parts of a JWT in compact form (RFC 7519 §3).
enum JSONWebToken {
  /// Returns the header and the claims in the form in which they are signed (RFC 7515 §5.1).
  static func signingInput(
    _ header: [String: JSONValue], _ claims: [String: JSONValue]
  ) -> String {
    Base64URL.encode(JSONValue.object(header).encoded()) + "."
      + Base64URL.encode(JSONValue.object(claims).encoded())
  }

  /// Returns the claims; nil if the text is not a JWT. The signature is not verified.
  static func claims(of token: Secret) -> [String: JSONValue]? {
    let parts = token.revealed().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return nil }
    return HTTPReply(status: 200, body: payload).jsonObject
  }
}
