import Crypto
import JSONRPC
package import UsherCore

/// A key to which a provider binds the tokens of one grant, so that nobody can use them who does
/// not have the key (DPoP, RFC 9449).
package struct DPoPKey: Sendable {
  /// The signature algorithm of the proofs.
  package static let algorithm = "ES256"

  /// A request for which a proof is made.
  package struct Request: Sendable, Equatable {
    package var method: String
    /// The absolute URL. The proof has it without query and fragment.
    package var url: String
    /// The access token that the request carries; nil if it carries none.
    package var accessToken: Secret?
    /// The nonce that the server demands; nil if it demands none.
    package var nonce: String?

    package init(
      method: String, url: String, accessToken: Secret? = nil, nonce: String? = nil
    ) {
      self.method = method
      self.url = url
      self.accessToken = accessToken
      self.nonce = nonce
    }
  }

  private let key: ClientKey

  /// Returns whether a text can be a server's nonce (RFC 9449 §8.1).
  package static func isNonce(_ text: String) -> Bool {
    text.isVisible(upTo: 1024)
      && !text.utf8.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
  }

  /// Returns whether a text is the method of an HTTP request (RFC 9110 §9.1).
  package static func isMethod(_ text: String) -> Bool {
    (1...32).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "-") }
  }

  /// Returns a new key in the form in which it is stored.
  ///
  /// - Parameter random: Returns as many random bytes as it is asked for.
  package static func make(_ random: (Int) -> [UInt8]) -> Sealed<Secret> {
    Sealed(ClientKey.make(random))
  }

  /// Reads a stored key.
  ///
  /// - Throws: `internalError` if the text is no key.
  package init(stored: Secret) throws(UsherError) {
    guard let key = ClientKey(pem: stored) else {
      throw UsherError(
        .internalError, "the stored DPoP key of the account cannot be read: sign in again")
    }
    self.key = key
  }

  /// The thumbprint of the public key (RFC 7638), which the authorization request names as
  /// `dpop_jkt` (RFC 9449 §10).
  package var thumbprint: String { key.keyID }

  /// Returns a proof that the sender of a request has the key (RFC 9449 §4.2). A server accepts
  /// each proof once, for a short time.
  package func proof(
    for request: Request, at transition: TransitionContext
  ) throws(UsherError) -> Secret {
    var transition = transition
    // A server whose clock is behind would refuse a proof from the future.
    let issuedAt = transition.now - .seconds(5)
    var claims: [String: JSONValue] = [
      "jti": .string(Base64URL.encode(transition.random(16))), "htm": .string(request.method),
      "htu": .string(String(request.url.prefix { $0 != "?" && $0 != "#" })),
      "iat": .integer(issuedAt.milliseconds / 1000),
    ]
    claims["nonce"] = request.nonce.map { .string($0) }
    claims["ath"] = request.accessToken.map { token in
      .string(Base64URL.encode(SHA256.hash(data: Array(token.revealed().utf8))))
    }
    let text = JSONWebToken.signingInput(
      ["typ": "dpop+jwt", "alg": .string(Self.algorithm), "jwk": .object(key.required)], claims)
    guard let signature = key.sign(Array(text.utf8), by: Self.algorithm) else {
      throw UsherError(.internalError, "the DPoP key of the account cannot sign: sign in again")
    }
    return Secret(text + "." + Base64URL.encode(signature))
  }
}

/// The nonces that servers demand in proofs, by the origin of the server (RFC 9449 §8).
package struct DPoPNonces: Sendable {
  /// The maximum number of origins; more would come only from metadata that changes all the time.
  private static let limit = 256

  private var nonces: [String: String] = [:]

  package init() {}

  /// Returns the nonce for a request to a URL; nil if the server has sent none.
  package func nonce(for url: String) -> String? { nonces[Self.origin(of: url)] }

  /// Records the nonce of a reply, which replaces the earlier one.
  package mutating func record(_ reply: HTTPReply, from url: String) {
    guard let nonce = reply.headers["dpop-nonce"], DPoPKey.isNonce(nonce) else { return }
    if nonces.count >= Self.limit { nonces = [:] }
    nonces[Self.origin(of: url)] = nonce
  }

  private static func origin(of url: String) -> String {
    url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3)
      .joined(separator: "/").lowercased()
  }
}

extension HTTPReply {
  /// Whether the server refuses the proof of the request because it lacks the nonce that the reply
  /// has (RFC 9449 §8, §9).
  package var demandsDPoPNonce: Bool {
    let error = "use_dpop_nonce"
    guard [400, 401].contains(status), headers["dpop-nonce"] != nil else { return false }
    return jsonObject?["error"]?.stringValue == error
      || headers["www-authenticate"].flatMap { BearerChallenge($0) }?.error == error
  }
}
