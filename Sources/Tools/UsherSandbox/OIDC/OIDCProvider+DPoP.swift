import Crypto
import FoundationEssentials

/// A DPoP proof whose signature is that of the key in its header (RFC 9449 §4).
struct DPoPProof {
  /// The signature algorithms that are accepted.
  static let algorithms: [JSON] = ["ES256"]

  let claims: JSON
  /// The thumbprint of the key (RFC 7638).
  let thumbprint: String

  /// Verifies a proof (RFC 9449 §4.3, items 2 to 7).
  init(_ text: String) throws(OAuthError) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
      let signature = Base64.decodedURL(parts[2])
    else { throw .proof("it is not a JWT") }
    guard header["typ"] == "dpop+jwt" else { throw .proof("typ is not dpop+jwt") }
    guard let algorithm = header["alg"], Self.algorithms.contains(algorithm) else {
      throw .proof("alg is not ES256")
    }
    guard case .object(let key)? = header["jwk"], key["d"] == nil else {
      throw .proof("jwk is missing, or has the private key")
    }
    guard key["kty"] == "EC", key["crv"] == "P-256",
      let x = key["x"]?.text, let y = key["y"]?.text,
      let point = Base64.decodedURL(x).flatMap({ first in
        Base64.decodedURL(y).map { first + $0 }
      }),
      let publicKey = try? P256.Signing.PublicKey(rawRepresentation: point)
    else { throw .proof("jwk is no key on P-256") }
    let signed = Data((parts[0] + "." + parts[1]).utf8)
    guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
      publicKey.isValidSignature(signature, for: signed)
    else { throw .proof("the signature is wrong") }
    self.claims = claims
    let members: JSON = ["crv": "P-256", "kty": "EC", "x": .string(x), "y": .string(y)]
    thumbprint = Base64.url(SHA256.hash(data: Data(members.encoded())))
  }

  private static func object(_ part: Substring) -> JSON? {
    guard let bytes = Base64.decodedURL(part), let value = try? JSON(parsing: bytes),
      case .object = value
    else { return nil }
    return value
  }
}

extension OIDCBackend {
  /// Returns the thumbprint of the key of which the request has a proof (RFC 9449 §4.3, items 8 to
  /// 12); nil if it has none.
  ///
  /// - Parameter accessToken: The access token that the request carries; nil if it carries none.
  func provenKey(
    _ call: EndpointCall, accessToken: String? = nil
  ) throws(OAuthError) -> String? {
    guard let text = call.headers["dpop"] else {
      let needsKey = settings.fapi2 && call.certificate == nil
      guard !settings.requireDPoP, !needsKey else { throw .proof("the header DPoP is missing") }
      return nil
    }
    let proof = try DPoPProof(text)
    guard proof.claims["htm"] == .string(call.method.rawValue) else {
      throw .proof("htm is not \(call.method.rawValue)")
    }
    let address = call.listener + call.path
    guard proof.claims["htu"] == .string(address) else { throw .proof("htu is not \(address)") }
    let now = Int(context.clock.now().timeIntervalSince1970)
    guard case .integer(let time)? = proof.claims["iat"], (now - 60...now + 5).contains(time) else {
      throw .proof("iat is missing, in the future, or more than a minute ago")
    }
    let hash = accessToken.map { Base64.url(SHA256.hash(data: Data($0.utf8))) }
    guard proof.claims["ath"]?.text == hash else {
      throw .proof("ath is not the hash of the access token")
    }
    let nonce = settings.dpopNonce
    guard nonce.isEmpty || proof.claims["nonce"] == .string(nonce) else {
      var refusal = OAuthError("use_dpop_nonce", "the proof must have the nonce of DPoP-Nonce")
      refusal.dpopNonce = nonce
      throw refusal
    }
    guard let id = proof.claims["jti"]?.text, ledger.usedProofs.insert(id).inserted else {
      throw .proof("jti is missing or was used before")
    }
    return proof.thumbprint
  }

  /// Checks that the sender of an access token has the key to which it is bound (RFC 9449 §7).
  func checkBinding(
    of permission: TokenAuthorization, _ token: String, _ call: EndpointCall
  ) throws(OAuthError) {
    guard let key = permission.keyThumbprint else {
      guard call.bearer != nil else { throw .token("the token is not of type DPoP") }
      return
    }
    guard call.bearer == nil else { throw .token("the token is of type DPoP") }
    do throws(OAuthError) {
      guard try provenKey(call, accessToken: token) == key else {
        throw .token("the proof is not by the key of the token")
      }
    } catch {
      var refusal = error
      refusal.status = 401
      throw refusal
    }
  }
}

extension OAuthError {
  fileprivate static func proof(_ description: String) -> OAuthError {
    OAuthError("invalid_dpop_proof", description)
  }

  fileprivate static func token(_ description: String) -> OAuthError {
    OAuthError("invalid_token", description, status: 401)
  }
}
