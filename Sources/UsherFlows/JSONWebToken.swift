import JSONRPC
import UsherCore

/// Reads the claims of a JWT in compact form (RFC 7519 §3). The signature is not verified.
enum JSONWebToken {
  /// Returns the claims; nil if the text is not a JWT.
  static func claims(of token: Secret) -> [String: JSONValue]? {
    let parts = token.revealed().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return nil }
    return HTTPReply(status: 200, body: payload).jsonObject
  }
}
