import JSONRPC
package import UsherConfig
package import UsherCore

extension SigningAlgorithm {
  /// Returns the algorithms with which the provider may sign a token if the configuration names
  /// none: those its metadata lists, or RS256 if it lists none (OIDC Core §2, JARM §3). `none` and
  /// the HMAC algorithms are excluded.
  package static func accepted(
    by metadata: OIDCMetadata, for kind: SignedTokenKind = .idToken
  ) -> Set<SigningAlgorithm> {
    guard let listed = metadata.algorithms(for: kind) else { return [.rs256] }
    return Set(listed.compactMap(SigningAlgorithm.init(rawValue:)).filter { !$0.usesClientSecret })
  }
}

extension OIDCMetadata {
  /// Whether the metadata lists the algorithms with which the provider signs such tokens.
  func lists(_ kind: SignedTokenKind) -> Bool { algorithms(for: kind) != nil }

  fileprivate func algorithms(for kind: SignedTokenKind) -> [String]? {
    switch kind {
    case .idToken: idTokenAlgorithms
    case .userinfo: userinfoAlgorithms ?? idTokenAlgorithms
    case .authorizationResponse: responseAlgorithms
    }
  }
}

/// The members of a signed token's header that the daemon uses (RFC 7515 §4). It ignores keys and
/// URLs in the header.
package struct JOSEHeader: Sendable, Equatable {
  package let algorithm: SigningAlgorithm
  package let kid: String?

  /// Reads the header of a token in compact form.
  ///
  /// - Throws: `UnusableReply` with a user-facing sentence if the token must be rejected whatever
  ///   its signature.
  package init(of token: Secret, _ protection: TokenProtection) throws(UnusableReply) {
    let text = protection.reply.text
    let parts = token.revealed().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count != 5 else {
      throw UnusableReply(
        "the \(text) is encrypted"
          + (protection.reply.encryptionSetting
            .map { ": set \($0) if the client is registered for that" } ?? ""))
    }
    guard parts.count == 3, let bytes = Base64URL.decode(parts[0]),
      let header = HTTPReply(status: 200, body: bytes).jsonObject
    else { throw UnusableReply("the \(text) is not a signed token") }
    guard let name = header["alg"]?.stringValue else {
      throw UnusableReply("the \(text)'s header has no alg")
    }
    guard let algorithm = SigningAlgorithm(rawValue: name),
      protection.algorithms.contains(algorithm)
    else { throw protection.refusal(of: name) }
    guard header["crit"] == nil else {
      throw UnusableReply("the \(text)'s header has crit, which is not understood")
    }
    if let type = header["typ"] {
      // RFC 7515 §4.1.9: a name without a slash stands for one with `application/` before it.
      guard ["jwt", "application/jwt"].contains(type.stringValue?.lowercased()) else {
        throw UnusableReply("the \(text)'s typ is not JWT")
      }
    }
    if let kid = header["kid"] {
      guard let name = kid.stringValue else {
        throw UnusableReply("the \(text)'s kid is not a string")
      }
      self.kid = name
    } else {
      kid = nil
    }
    self.algorithm = algorithm
  }
}
