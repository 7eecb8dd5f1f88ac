import UsherConfig
import UsherCore

/// One round of the user in the browser: the secrets that bind the messages of the authorization
/// code flow together.
///
/// Every new round gets new secrets.
struct OIDCAttempt: Codable, Sendable, Equatable {
  let metadata: OIDCMetadata
  let authorizationEndpoint: String
  /// The `state` that binds the redirect to this round; 192 bits.
  let state: Sealed<Secret>
  /// The `nonce` that binds the ID token to this round; 192 bits. It is not sent to a server
  /// without ID tokens.
  let nonce: Sealed<Secret>
  let verifier: Sealed<Secret>
  /// The key to which the provider binds the tokens, the same in each round; nil if it binds them
  /// to none.
  let dpopKey: Sealed<Secret>?
  /// The reference to the authorization request that was pushed to the provider (RFC 9126 §2.2);
  /// nil if the browser carries the whole request.
  var requestURI: String?
  /// The signed authorization request (RFC 9101); nil if the request is not signed, or has been
  /// pushed.
  var requestObject: Sealed<Secret>?

  init(
    _ metadata: OIDCMetadata, authorizationEndpoint: String, dpopKey: Sealed<Secret>?,
    _ transition: inout TransitionContext
  ) {
    self.metadata = metadata
    self.authorizationEndpoint = authorizationEndpoint
    self.dpopKey = dpopKey
    state = Sealed(Secret(Base64URL.encode(transition.random(24))))
    nonce = Sealed(Secret(Base64URL.encode(transition.random(24))))
    verifier = Sealed(PKCE.verifier(&transition))
  }

  func renewed(_ transition: inout TransitionContext) -> OIDCAttempt {
    OIDCAttempt(
      metadata, authorizationEndpoint: authorizationEndpoint, dpopKey: dpopKey, &transition)
  }

  /// Returns the authorization URL for the browser.
  func url(
    redirectURI: String, scope: String, audiences: [String], hints: [String: String],
    settings: OIDCSettings
  ) -> String {
    let fields =
      requestURI.map { [("client_id", settings.clientID), ("request_uri", $0)] }
      ?? requestObject.map { signedFields($0, scope: scope, settings) }
      ?? Self.fields(
        parameters(
          redirectURI: redirectURI, scope: scope, audiences: audiences, hints: hints,
          settings: settings))
    let separator = authorizationEndpoint.contains("?") ? "&" : "?"
    return authorizationEndpoint + separator + FormEncoding.encode(fields)
  }

  /// Returns the fields that carry a signed request. Only the object counts (RFC 9101 §6.3); OIDC
  /// Core §6.1 demands the others too.
  private func signedFields(
    _ object: Sealed<Secret>, scope: String, _ settings: OIDCSettings
  ) -> [(name: String, value: String)] {
    [("response_type", "code"), ("client_id", settings.clientID)]
      + (scope.isEmpty ? [] : [("scope", settings.spelling(ofScope: scope))])
      + [("request", object.unsealed().revealed())]
  }

  /// Returns the fields of a request for its parameters. The parameter `resource` is repeated for
  /// each of its values (RFC 8707 §2), which spaces separate.
  static func fields(
    _ parameters: [(name: String, value: String)]
  ) -> [(name: String, value: String)] {
    parameters.flatMap { name, value in
      name == "resource"
        ? value.split(separator: " ").map { (name: name, value: String($0)) }
        : [(name: name, value: value)]
    }
  }

  /// Returns the parameters of the authorization request (RFC 6749 §4.1.1, RFC 7636 §4.3, OIDC Core
  /// §3.1.2.1), each once.
  ///
  /// - Parameters:
  ///   - audiences: The audiences for which tokens will be requested.
  ///   - hints: Additional parameters from the caller. They override `extra_authorize` of the
  ///     configuration.
  func parameters(
    redirectURI: String, scope: String, audiences: [String], hints: [String: String],
    settings: OIDCSettings
  ) -> [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = [
      ("response_type", "code"), ("client_id", settings.clientID), ("redirect_uri", redirectURI),
    ]
    if settings.responseMode != .query {
      fields.append(("response_mode", settings.responseMode.rawValue))
    }
    if !scope.isEmpty { fields.append(("scope", settings.spelling(ofScope: scope))) }
    fields.append(("state", state.unsealed().revealed()))
    if settings.hasIDTokens { fields.append(("nonce", nonce.unsealed().revealed())) }
    if settings.pkce {
      fields.append(("code_challenge", PKCE.challenge(of: verifier.unsealed())))
      fields.append(("code_challenge_method", "S256"))
    }
    // The provider binds the code to this key, so that a thief cannot redeem it (RFC 9449 §10).
    if let dpopKey, let key = try? DPoPKey(stored: dpopKey.unsealed()) {
      fields.append(("dpop_jkt", key.thumbprint))
    }
    fields += settings.fields(forSignInWith: audiences)
    var more = settings.extraAuthorize.merging(hints) { _, hint in hint }
    // Strict providers issue no refresh token without the user's consent (OIDC Core §11).
    if more["prompt"] == nil, scope.split(separator: " ").contains("offline_access") {
      more["prompt"] = "consent"
    }
    // No parameter may occur twice (RFC 6749 §3.1).
    let taken = Set(fields.map(\.name))
    for (name, value) in more.sorted(by: { $0.key < $1.key }) where !taken.contains(name) {
      fields.append((name, value))
    }
    return fields
  }
}
