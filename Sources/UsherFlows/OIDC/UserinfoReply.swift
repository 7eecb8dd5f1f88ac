import JSONRPC
import UsherCore

/// The reply of the userinfo endpoint (OIDC Core §5.3).
package enum UserinfoReply: Sendable, Equatable {
  case claims(PersonClaims)
  /// The `sub` differs from that of the ID token, so the claims must not be used (OIDC Core
  /// §5.3.2).
  case otherSubject
  /// The reply cannot be used. The message is a user-facing sentence.
  case unusable(message: String)

  /// Reads the reply.
  ///
  /// - Parameter subject: The `sub` of the ID token. Nil if there was no ID token: then the reply's
  ///   own `sub` identifies the user.
  package init(_ reply: HTTPReply, subject: String?) {
    guard (200..<300).contains(reply.status) else {
      self = .unusable(message: "the userinfo endpoint answers HTTP \(reply.status)")
      return
    }
    let type = reply.headers["content-type"]?.lowercased() ?? ""
    guard !type.hasPrefix("application/jwt") else {
      self = .unusable(message: "the userinfo endpoint answers with a JWT, which is not supported")
      return
    }
    guard let members = reply.jsonObject else {
      self = .unusable(message: "the userinfo endpoint's answer is not a JSON object")
      return
    }
    guard let claims = PersonClaims(members) else {
      self = .unusable(message: "the userinfo endpoint's answer has no sub")
      return
    }
    let isSameSubject = subject.map { $0.hasSameBytes(as: claims.subject) } ?? true
    self = isSameSubject ? .claims(claims) : .otherSubject
  }
}
