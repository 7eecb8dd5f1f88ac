/// How an OpenID provider signs and encrypts what it tells about the user. The settings have the
/// names that they have at the registration of the client (OpenID Connect Dynamic Client
/// Registration §2).
package struct OIDCProtectionSettings: Equatable, Sendable {
  /// The only algorithm with which ID tokens may be signed; nil: those that the provider's metadata
  /// lists, without those of the client secret.
  package var idTokenSigning: SigningAlgorithm?
  /// How the key of encrypted ID tokens is sent; nil: ID tokens are not encrypted.
  package var idTokenEncryption: KeyManagementAlgorithm?
  /// The only algorithm with which userinfo answers may be signed; nil: an answer may be unsigned,
  /// or be signed with an algorithm that the provider's metadata lists.
  package var userinfoSigning: SigningAlgorithm?
  /// How the key of encrypted userinfo answers is sent; nil: they are not encrypted.
  package var userinfoEncryption: KeyManagementAlgorithm?
  /// The name of the private key in the credential store that decrypts them.
  package var decryptionCredential: String?

  package init() {}

  /// The algorithms for which the key of ``decryptionCredential`` serves.
  package var encryptions: [KeyManagementAlgorithm] {
    [idTokenEncryption, userinfoEncryption].compactMap(\.self)
  }

  /// - Parameter hasSecret: Whether the client has a secret, which the HMAC algorithms need.
  mutating func bind(_ table: SettingsTable, hasSecret: Bool) {
    let signing: (SigningAlgorithm) -> String? = { algorithm in
      algorithm.usesClientSecret && !hasSecret ? "needs client_credential with a secret" : nil
    }
    table.setting(&idTokenSigning, "id_token_signed_response_alg", violation: signing)
    table.setting(&idTokenEncryption, "id_token_encrypted_response_alg")
    table.setting(&userinfoSigning, "userinfo_signed_response_alg", violation: signing)
    table.setting(&userinfoEncryption, "userinfo_encrypted_response_alg")
    table.setting(&decryptionCredential, "decryption_credential", violation: \.credentialViolation)
    let encryptions: [(name: String, algorithm: KeyManagementAlgorithm?)] = [
      ("id_token_encrypted_response_alg", idTokenEncryption),
      ("userinfo_encrypted_response_alg", userinfoEncryption),
    ]
    for (name, algorithm) in encryptions where algorithm != nil && decryptionCredential == nil {
      table.reportProblem(name, "needs decryption_credential, which names the private key")
    }
    // One key serves both: it is an RSA key, or one on an elliptic curve.
    if let one = idTokenEncryption, let other = userinfoEncryption, one.usesRSA != other.usesRSA {
      table.reportProblem(
        "userinfo_encrypted_response_alg",
        "needs another kind of key than id_token_encrypted_response_alg, and there is only one")
    }
  }
}

extension KeyManagementAlgorithm {
  package var usesRSA: Bool { self == .rsaOAEP256 }
}
