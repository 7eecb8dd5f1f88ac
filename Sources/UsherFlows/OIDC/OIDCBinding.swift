import JSONRPC
package import UsherConfig
import UsherCore

// Tokens that the provider binds to a key of the daemon (DPoP, RFC 9449).

extension OIDCSettings {
  /// Returns a new key for the tokens of a sign-in; nil if the provider does not bind them.
  func dpopKey(_ transition: inout TransitionContext) -> Sealed<Secret>? {
    dpop ? DPoPKey.make { transition.random($0) } : nil
  }

  /// Returns why the provider cannot do what the configuration demands, as a sentence; nil if it
  /// can, or its metadata does not tell.
  package func flaw(of metadata: OIDCMetadata) -> String? {
    if let flaw = profile.flaw(of: metadata, for: self) ?? flaw(ofGrantManagement: metadata) {
      return flaw
    }
    guard dpop, let algorithms = metadata.dpopAlgorithms, !algorithms.contains(DPoPKey.algorithm)
    else { return nil }
    return "dpop is set, but the provider accepts no DPoP proofs with \(DPoPKey.algorithm): its "
      + "metadata lists \(ProviderText.found(.array(algorithms.map { .string($0) })))"
  }
}

extension OIDCCall {
  /// Returns the call with a proof that the daemon has a key; the same call if there is no key.
  func bound(to key: Sealed<Secret>?) -> OIDCCall {
    key.map { .bound(self, key: $0.unsealed()) } ?? self
  }

  /// The call without its proof.
  var unbound: OIDCCall { if case .bound(let call, key: _) = self { call } else { self } }

  /// Returns the HTTP request with a proof, and with the access token as one of type DPoP (RFC 9449
  /// §5, §7.1).
  func render(
    boundTo key: Secret, _ context: RenderContext<OIDCSettings>
  ) throws(UsherError) -> HTTPRequest {
    var request = try render(context)
    var proven = DPoPKey.Request(
      method: request.method.rawValue, url: request.url,
      nonce: context.dpopNonces.nonce(for: request.url))
    if case .userinfo(let token, _) = self {
      proven.accessToken = token
      request.headers.removeAll { $0.name == "Authorization" }
      request.headers.append(.init("Authorization", Secret("DPoP \(token.revealed())")))
    }
    let proof = try DPoPKey(stored: key).proof(for: proven, at: context.transition)
    request.headers.append(.init("DPoP", proof))
    return request
  }
}
