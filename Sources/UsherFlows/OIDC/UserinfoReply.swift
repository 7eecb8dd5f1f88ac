import JSONRPC
import UsherCore

/// What the userinfo endpoint answered (OIDC Core §5.3).
package enum UserinfoReply: Sendable, Equatable {
  case claims(PersonClaims)
  /// It speaks of another person than the ID token: its claims must not be used (§5.3.2).
  case otherSubject
  /// Nothing to use; a sentence for people.
  case unusable(message: String)

  /// - Parameter subject: The ID token's `sub`; nil where there was none, then whose claims it is
  ///   is the answer's to say.
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
    let isMeant = subject.map { $0.hasSameBytes(as: claims.subject) } ?? true
    self = isMeant ? .claims(claims) : .otherSubject
  }
}
