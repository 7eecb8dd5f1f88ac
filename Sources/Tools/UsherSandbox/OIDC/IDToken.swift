import Crypto
import CryptoExtras
package import FoundationEssentials
import JWTKit

/// The claims of a token, as JSON so that a test can falsify each of them. Nothing verifies them.
struct Claims: JWTPayload {
  let members: [String: JSON]

  init(_ members: [String: JSON]) { self.members = members }

  init(from decoder: any Decoder) throws {
    members = try decoder.singleValueContainer().decode([String: JSON].self)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(members)
  }

  func verify(using algorithm: some JWTAlgorithm) {}
}

/// The keys of the client for which a token is.
package struct TokenRecipient: Sendable {
  /// The client secret; nil for a public client.
  var secret: String?
  /// The client's key set.
  var keySet: JSON?

  package init(secret: String? = nil, keySet: JSON? = nil) {
    self.secret = secret
    self.keySet = keySet
  }
}

extension SigningKeys {
  /// Signs and encrypts claims as the settings say: correctly by default, incorrectly if the
  /// settings demand it.
  package func idToken(
    _ claims: [String: JSON], _ settings: IDTokenSettings,
    for recipient: TokenRecipient = TokenRecipient()
  ) async throws -> String {
    guard let encryption = settings.encryption else {
      return try await signed(claims, settings, for: recipient)
    }
    let content =
      if encryption.unsigned == true {
        String(
          decoding: JSON.object(claims.applying(overrides: settings.claims ?? [:])).encoded(),
          as: UTF8.self)
      } else {
        try await signed(claims, settings, for: recipient)
      }
    return try encryption.encrypted(content, for: recipient.keySet)
  }

  private func signed(
    _ claims: [String: JSON], _ settings: IDTokenSettings, for recipient: TokenRecipient
  ) async throws -> String {
    let algorithm = settings.alg ?? .rs256
    let (keys, kid) = try await signer(algorithm, recipient)
    var header: [String: JSON] = ["typ": .string(settings.typ ?? "JWT")]
    header["kid"] = (settings.kid ?? kid).map { .string($0) }
    header = header.applying(overrides: settings.header ?? [:])
    let token = try await keys.sign(
      Claims(claims.applying(overrides: settings.claims ?? [:])),
      header: JSON.object(header).decoded(as: JWTHeader.self))
    return settings.badSignature == true ? Self.damaged(token) : token
  }

  /// Returns a collection with just one key, which signs whatever key id the header names.
  private func signer(
    _ algorithm: IDTokenSettings.Algorithm, _ recipient: TokenRecipient
  ) async throws -> (keys: JWTKeyCollection, kid: String?) {
    let keys = JWTKeyCollection()
    guard let rsa = rsa.last, let ec = ec.last else { return (keys, nil) }
    switch algorithm {
    case .rs256:
      let key = try Insecure.RSA.PrivateKey(backing: rsa.key())
      return (await keys.add(rsa: key, digestAlgorithm: .sha256), rsa.kid)
    case .ps256:
      let key = try Insecure.RSA.PrivateKey(backing: rsa.key())
      return (await keys.add(pss: key, digestAlgorithm: .sha256), rsa.kid)
    case .es256:
      return (await keys.add(ecdsa: try ES256PrivateKey(backing: ec.key)), ec.kid)
    case .hs256:
      guard let secret = recipient.secret else {
        throw OAuthError("server_error", "the client has no secret", status: 500)
      }
      return (await keys.add(hmac: .init(clientSecret: secret), digestAlgorithm: .sha256), nil)
    case .unsigned:
      return (await keys.addUnsecuredNone(), nil)
    case .publicKeyHMAC:
      let secret = HMACKey(from: try rsa.key().publicKey.pemRepresentation)
      return (await keys.add(hmac: secret, digestAlgorithm: .sha256), rsa.kid)
    }
  }

  /// Returns the token with one character of its signature replaced.
  private static func damaged(_ token: String) -> String {
    guard let dot = token.lastIndex(of: "."),
      let target = token.index(dot, offsetBy: 10, limitedBy: token.endIndex),
      target < token.endIndex
    else { return token }
    let other = token[target] == "A" ? "B" : "A"
    return token.replacingCharacter(at: target, with: other)
  }
}

extension HMACKey {
  /// Creates the key for a client secret. JWTKit takes no key that is shorter than the hash, and
  /// zeros at its end change nothing (RFC 2104 §2).
  init(clientSecret secret: String) {
    let missing = max(0, SHA256.byteCount - secret.utf8.count)
    self.init(from: Array(secret.utf8) + Array(repeating: 0, count: missing))
  }
}

extension String {
  fileprivate func replacingCharacter(at index: Index, with other: String) -> String {
    String(self[..<index]) + other + String(self[self.index(after: index)...])
  }
}

extension TokenAuthorization {
  /// The claims about the user that the scope permits (OIDC Core §5.4), and those that the request
  /// named (§5.5).
  package func personClaims(and requested: Set<String> = []) -> [String: JSON] {
    let all = Self.personClaims(of: user, scope: ["profile", "phone", "address", "email"])
    return Self.personClaims(of: user, scope: scope)
      .merging(all.filter { requested.contains($0.key) }) { known, _ in known }
  }

  private static func personClaims(of user: User, scope: [String]) -> [String: JSON] {
    var claims: [String: JSON] = ["sub": .string(user.sub)]
    if scope.contains("profile") {
      claims["name"] = .string(user.name)
      claims["preferred_username"] = .string(user.username)
      let words = user.name.split(separator: " ", maxSplits: 1).map { JSON.string(String($0)) }
      claims["given_name"] = words.first
      claims["family_name"] = words.dropFirst().first
      claims["gender"] = "unspecified"
      claims["picture"] = .string("https://example.com/\(user.username).png")
    }
    if scope.contains("phone"), let phone = user.phone {
      claims["phone_number"] = .string(phone)
      claims["phone_number_verified"] = true
    }
    if scope.contains("address") {
      claims["address"] = ["street_address": "1 Sandbox Street", "locality": "Sandbox"]
    }
    if scope.contains("email") {
      claims["email"] = .string(user.email)
      claims["email_verified"] = true
    }
    return claims
  }

  /// The claims of an ID token.
  ///
  /// - Parameter code: The code of the authorization request; nil if there was none, and then there
  ///   is no `nonce`.
  package func idTokenClaims(
    issuer: String, accessToken: String, code: String?, lifetime: Int, now: Date
  ) -> [String: JSON] {
    var claims = personClaims(and: self.claims.idToken)
    let issued = Int(now.timeIntervalSince1970)
    claims["iss"] = .string(issuer)
    claims["aud"] = .string(clientID)
    claims["iat"] = .integer(issued)
    claims["exp"] = .integer(issued + lifetime)
    claims["auth_time"] = .integer(Int(authTime.timeIntervalSince1970))
    claims["at_hash"] = Self.leftHash(of: accessToken)
    if let code {
      claims["c_hash"] = Self.leftHash(of: code)
      claims["nonce"] = nonce.map { .string($0) }
    }
    return claims
  }

  /// Returns the left half of a text's hash (OIDC Core §3.1.3.6).
  private static func leftHash(of text: String) -> JSON {
    .string(Base64.url(Array(SHA256.hash(data: Data(text.utf8))).prefix(16)))
  }
}
