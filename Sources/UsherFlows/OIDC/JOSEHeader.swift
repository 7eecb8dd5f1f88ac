import JSONRPC
package import UsherCore

/// The signature algorithms that are accepted on an ID token, all of them asymmetric
/// (RFC 7518 §3.1, RFC 8037 §3.1).
///
/// `none` and the HMAC algorithms are excluded, so that a public key cannot be mistaken for a
/// shared secret.
package enum SigningAlgorithm: String, Codable, Sendable, CaseIterable {
  case rs256 = "RS256"
  case rs384 = "RS384"
  case rs512 = "RS512"
  case ps256 = "PS256"
  case ps384 = "PS384"
  case ps512 = "PS512"
  case es256 = "ES256"
  case es384 = "ES384"
  case es512 = "ES512"
  case edDSA = "EdDSA"

  /// Returns the algorithms that the provider may sign a token with: those its metadata lists, or
  /// RS256 if it lists none (OIDC Core §2, JARM §3).
  package static func accepted(
    by metadata: OIDCMetadata, for kind: SignedTokenKind = .idToken
  ) -> Set<SigningAlgorithm> {
    let listed =
      switch kind {
      case .idToken: metadata.idTokenAlgorithms
      case .authorizationResponse: metadata.responseAlgorithms
      }
    guard let listed else { return [.rs256] }
    return Set(listed.compactMap(SigningAlgorithm.init(rawValue:)))
  }
}

/// What a provider signs with the keys of its key set.
package enum SignedTokenKind: Sendable, Equatable {
  case idToken
  /// The answer to an authorization request (JARM).
  case authorizationResponse

  /// The name in messages.
  package var name: String {
    switch self {
    case .idToken: "the ID token"
    case .authorizationResponse: "the signed answer"
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
  package init(
    of token: Secret, as kind: SignedTokenKind = .idToken, accepting accepted: Set<SigningAlgorithm>
  ) throws(UnusableReply) {
    let parts = token.revealed().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count != 5 else { throw UnusableReply("\(kind.name) is encrypted") }
    guard parts.count == 3, let bytes = Base64URL.decode(parts[0]),
      let header = HTTPReply(status: 200, body: bytes).jsonObject
    else { throw UnusableReply("\(kind.name) is not a signed token") }
    guard let name = header["alg"]?.stringValue else {
      throw UnusableReply("\(kind.name)'s header has no alg")
    }
    guard let algorithm = SigningAlgorithm(rawValue: name), accepted.contains(algorithm) else {
      let shown = ProviderText.clean(name, limit: 20)
      let names = accepted.map(\.rawValue).sorted().joined(separator: ", ")
      throw UnusableReply(
        "\(kind.name)'s alg \(shown) is not accepted: expected "
          + (names.isEmpty ? "none, for the metadata lists no algorithm that may be used" : names))
    }
    guard header["crit"] == nil else {
      throw UnusableReply("\(kind.name)'s header has crit, which is not understood")
    }
    if let type = header["typ"] {
      guard type.stringValue?.lowercased() == "jwt" else {
        throw UnusableReply("\(kind.name)'s typ is not JWT")
      }
    }
    if let kid = header["kid"] {
      guard let text = kid.stringValue else {
        throw UnusableReply("\(kind.name)'s kid is not a string")
      }
      self.kid = text
    } else {
      kid = nil
    }
    self.algorithm = algorithm
  }
}
