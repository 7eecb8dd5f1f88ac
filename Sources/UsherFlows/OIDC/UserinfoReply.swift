import JSONRPC
package import UsherConfig
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
  /// - Parameters:
  ///   - subject: The `sub` of the ID token. Nil if there was no ID token: then the reply's own
  ///     `sub` identifies the user.
  ///   - names: The names of the members at a server that does not use those of OpenID Connect.
  package init(_ reply: HTTPReply, subject: String?, members names: OAuth2Userinfo? = nil) {
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
    guard let claims = PersonClaims(names?.claims(in: members) ?? members) else {
      let error = names == nil ? nil : ProviderText.shown(members["error"]?.stringValue, limit: 100)
      let subject = names?.subject.joined(separator: ", ") ?? "sub"
      self = .unusable(
        message: error.map { "the userinfo endpoint answers with the error \($0)" }
          ?? "the userinfo endpoint's answer has no \(subject)")
      return
    }
    let isSameSubject = subject.map { $0.hasSameBytes(as: claims.subject) } ?? true
    self = isSameSubject ? .claims(claims) : .otherSubject
  }
}

extension OAuth2Userinfo {
  /// Returns the standard claims (OIDC Core §5.1) that the members of a reply stand for.
  fileprivate func claims(in reply: [String: JSONValue]) -> [String: JSONValue] {
    var claims: [String: JSONValue] = [:]
    for (claim, member) in members { claims[claim] = Self.value(member, in: reply) }
    let parts = subject.compactMap { member -> String? in
      switch Self.value(member, in: reply) {
      case .string(let text)?: text.isEmpty ? nil : text
      // Some servers identify their users by numbers.
      case .integer(let number)?: String(number)
      default: nil
      }
    }
    if parts.count == subject.count { claims["sub"] = .string(parts.joined(separator: "/")) }
    return claims
  }

  private static func value(_ member: String, in reply: [String: JSONValue]) -> JSONValue? {
    member.split(separator: ".").map(String.init).reduce(JSONValue.object(reply)) { $0?[$1] }
  }
}
