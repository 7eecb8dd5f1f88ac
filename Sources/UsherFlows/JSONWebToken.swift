import JSONRPC
import UsherCore

/// A JWT in its compact form (RFC 7519 §3), read without a look at its signature.
enum JSONWebToken {
  /// The claims; nil for what is no such token.
  static func claims(of token: Secret) -> [String: JSONValue]? {
    let parts = token.revealed().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return nil }
    return HTTPReply(status: 200, body: payload).jsonObject
  }
}
