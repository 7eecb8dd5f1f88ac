package import UsherConfig
package import UsherCore

/// What a provider signs.
package enum SignedTokenKind: Sendable, Equatable {
  case idToken
  case userinfo
  /// The answer to an authorization request (JARM).
  case authorizationResponse

  /// The name in messages.
  package var text: String {
    switch self {
    case .idToken: "ID token"
    case .userinfo: "userinfo answer"
    case .authorizationResponse: "signed answer"
    }
  }

  /// The setting that permits one signature algorithm only; nil if there is none.
  var signingSetting: String? {
    switch self {
    case .idToken: "id_token_signed_response_alg"
    case .userinfo: "userinfo_signed_response_alg"
    case .authorizationResponse: nil
    }
  }

  /// The setting that demands encryption; nil if encrypted tokens of this kind are not supported.
  var encryptionSetting: String? {
    switch self {
    case .idToken: "id_token_encrypted_response_alg"
    case .userinfo: "userinfo_encrypted_response_alg"
    case .authorizationResponse: nil
    }
  }
}

/// How a reply must be signed and encrypted.
package struct TokenProtection: Sendable, Equatable {
  package var reply: SignedTokenKind
  /// The algorithms with which the reply may be signed.
  package var algorithms: Set<SigningAlgorithm>
  /// How the key of the encrypted reply is sent; nil if it is not encrypted.
  package var encryption: KeyManagementAlgorithm?
  /// Whether an encrypted reply must be signed, too. Anybody can encrypt for the daemon. A userinfo
  /// answer need not be signed unless the configuration names its algorithm.
  var mustBeSigned: Bool
  /// The security profile that limits the algorithms.
  private var profile = OIDCProfile.none

  package init(
    reply: SignedTokenKind = .idToken, algorithms: Set<SigningAlgorithm>,
    encryption: KeyManagementAlgorithm? = nil
  ) {
    self.reply = reply
    self.algorithms = algorithms
    self.encryption = encryption
    mustBeSigned = reply != .userinfo
  }

  /// Creates the protection that the configuration demands. Where it does not name an algorithm,
  /// the provider's metadata lists those that may be used, without the HMAC algorithms. A security
  /// profile limits them further.
  package init(of reply: SignedTokenKind, _ metadata: OIDCMetadata, _ settings: OIDCSettings) {
    let configured = settings.protection
    let listed = settings.profile.accepted(
      SigningAlgorithm.accepted(by: metadata, for: reply), isListed: metadata.lists(reply))
    switch reply {
    case .idToken:
      self.init(
        algorithms: configured.idTokenSigning.map { [$0] } ?? listed,
        encryption: configured.idTokenEncryption)
    case .userinfo:
      self.init(
        reply: .userinfo, algorithms: configured.userinfoSigning.map { [$0] } ?? listed,
        encryption: configured.userinfoEncryption)
      mustBeSigned = configured.userinfoSigning != nil
    case .authorizationResponse:
      self.init(reply: .authorizationResponse, algorithms: listed)
    }
    profile = settings.profile
  }

  /// What an encrypted reply contains, or the reply itself if it is not encrypted.
  package enum Content: Sendable, Equatable {
    /// A signed token.
    case signed(Secret)
    /// The claims of an encrypted userinfo answer that is not signed.
    case claims([UInt8])
  }

  /// Decrypts a reply if it must be encrypted.
  ///
  /// - Parameter key: Returns the key of `decryption_credential`.
  /// - Throws: If the reply is not encrypted as it must be. Something encrypted that need not be so
  ///   is returned as it is.
  package func content(
    of token: Secret, key: () throws(UnusableReply) -> DecryptionKey
  ) throws(UnusableReply) -> Content {
    guard let encryption else { return .signed(token) }
    guard EncryptedToken.isEncrypted(token) else {
      throw UnusableReply(
        "the \(reply.text) is not encrypted, but \(reply.encryptionSetting ?? "the configuration") "
          + "demands that")
    }
    let bytes = try EncryptedToken(token, of: reply.text).decrypted(with: key(), by: encryption)
    let isJSON = bytes.first == UInt8(ascii: "{")
    // OIDC Core §5.3.2: a userinfo answer may be encrypted without being signed.
    if isJSON, reply == .userinfo {
      guard mustBeSigned else { return .claims(bytes) }
      throw UnusableReply(
        "the encrypted \(reply.text) is not signed, but "
          + "\(reply.signingSetting ?? "the configuration") demands that")
    }
    guard !isJSON, let text = String(validating: bytes, as: UTF8.self) else {
      throw UnusableReply("the encrypted \(reply.text) does not contain a signed token")
    }
    return .signed(Secret(text))
  }

  /// Returns why a token with this value of `alg` is refused, and what to configure.
  func refusal(of name: String) -> UnusableReply {
    let names = algorithms.map(\.rawValue).sorted().joined(separator: ", ")
    let expected =
      names.isEmpty ? "none, for the metadata lists no algorithm that may be used" : names
    let remedy: String
    switch SigningAlgorithm(rawValue: name) {
    case nil:
      let all = (profile.algorithms ?? SigningAlgorithm.allCases).map(\.rawValue)
      let place = reply.signingSetting.map { " (\($0))" } ?? ""
      remedy =
        "; register the client for an algorithm that usherd accepts\(place): "
        + all.joined(separator: ", ")
    case .some(let known):
      let hint =
        known.usesClientSecret
        ? reply.signingSetting.map { "; if the client is registered for it, set \($0)" } : nil
      remedy = profile.refusal(of: known) ?? hint ?? ""
    }
    let shown = ProviderText.clean(name, limit: 20)
    return UnusableReply(
      "the \(reply.text)'s alg \(shown) is not accepted: expected \(expected)\(remedy)")
  }
}
