import JSONRPC
package import UsherConfig
package import UsherCore

/// The reply of the userinfo endpoint (OIDC Core §5.3).
package enum UserinfoReply: Sendable, Equatable {
  case claims(PersonClaims)
  /// The claims are in a token, whose signature must be verified first.
  case token(Secret)
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
  ///   - protection: Whether the reply must be signed or encrypted.
  package init(
    _ reply: HTTPReply, subject: String?, members names: OAuth2Userinfo? = nil,
    _ protection: OIDCProtectionSettings = OIDCProtectionSettings()
  ) {
    guard (200..<300).contains(reply.status) else {
      self = .unusable(message: "the userinfo endpoint answers HTTP \(reply.status)")
      return
    }
    let type = reply.headers["content-type"]?.lowercased() ?? ""
    if type.hasPrefix("application/jwt"), names == nil {
      guard reply.body.count <= EncryptedToken.maxLength,
        let text = String(validating: reply.body, as: UTF8.self)
      else {
        self = .unusable(
          message: "the userinfo endpoint's answer is not a token of at most "
            + "\(EncryptedToken.maxLength) bytes")
        return
      }
      self = .token(Secret(text))
      return
    }
    if let setting = protection.userinfoDemand {
      self = .unusable(
        message: "the userinfo endpoint's answer is not a token (application/jwt), but \(setting) "
          + "demands one")
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

extension OIDCProtectionSettings {
  /// The setting that demands a token; nil if plain JSON will do.
  fileprivate var userinfoDemand: String? {
    if userinfoEncryption != nil { return "userinfo_encrypted_response_alg" }
    return userinfoSigning == nil ? nil : "userinfo_signed_response_alg"
  }
}

extension UserinfoReply {
  /// The values that the claims of a token are checked against.
  package struct Expectation: Sendable, Equatable {
    package var issuer: String
    package var clientID: String
    /// The `sub` of the ID token; nil if there was none.
    package var subject: String?
    package var now: Timestamp
    /// The tolerated difference between the clocks of the provider and the daemon.
    package var skew: Duration
  }

  /// Checks the claims of a token whose signature has been verified (OIDC Core §5.3.2).
  ///
  /// - Parameter isSigned: Whether the token was signed. Then it must have `iss` and `aud`. One
  ///   that was only encrypted may lack them.
  package init(payload: [UInt8], isSigned: Bool, _ expected: Expectation) {
    let reply = HTTPReply(status: 200, body: payload)
    let claims = reply.jsonObject ?? [:]
    let audience = claims["aud"].map { $0.arrayValue ?? [$0] }
    let isIssuer = claims["iss"].map { $0.stringValue?.hasSameBytes(as: expected.issuer) ?? false }
    let isForClient = audience.map { values in
      values.contains { $0.stringValue?.hasSameBytes(as: expected.clientID) ?? false }
    }
    let end = claims["exp"].map { $0.numberValue.map { Timestamp(seconds: $0) } }
    if !(isIssuer ?? !isSigned) {
      self = .unusable(
        message: "the userinfo answer's iss is not the provider's issuer: expected "
          + "\(expected.issuer), found \(ProviderText.found(claims["iss"]))")
    } else if !(isForClient ?? !isSigned) {
      self = .unusable(
        message: "the userinfo answer's aud does not name this client: expected "
          + "\(expected.clientID), found \(ProviderText.found(claims["aud"]))")
    } else if let end, end.map({ $0 <= expected.now - expected.skew }) ?? true {
      self = .unusable(
        message: "the userinfo answer's exp has passed: the time is "
          + "\(expected.now.milliseconds / 1000), found \(ProviderText.found(claims["exp"]))")
    } else {
      self.init(reply, subject: expected.subject)
    }
  }
}

/// Claims that the provider does not state itself: aggregated and distributed ones (OIDC Core
/// §5.6.2). They are not read.
enum ClaimSources {
  /// Returns a warning that names such claims; nil if the payload refers to none.
  static func warning(in payload: [UInt8]) -> String? {
    let names = HTTPReply(status: 200, body: payload).jsonObject?["_claim_names"]?.objectValue
    guard let names, !names.isEmpty else { return nil }
    let shown = names.keys.sorted().prefix(20).map { ProviderText.clean($0, limit: 50) }
    return "the provider refers to other sources for the claims \(shown.joined(separator: ", "))"
      + ": aggregated and distributed claims are not read"
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
