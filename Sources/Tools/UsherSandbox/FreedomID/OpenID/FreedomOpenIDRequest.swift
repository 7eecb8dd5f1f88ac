/// A valid OpenID request. Its client is the partner and its redirect URI is registered.
struct FreedomOpenIDRequest: Sendable, Hashable {
  let redirectURI: String
  let state: String
  let nonce: String
  let scope: [String]
  /// The PKCE code challenge; nil if the request has none, since the vendor does not document PKCE.
  let challenge: String?

  /// Checks the client and the redirect URI. Its refusals must not be sent by redirect.
  static func redirectURI(_ form: Form, _ settings: FreedomIDBackendSettings) throws(OAuthError)
    -> String
  {
    guard try form.required("client_id") == FreedomPartner.client.id else {
      throw OAuthError("invalid_client", "client_id is not known")
    }
    let uri = try form.required("redirect_uri")
    guard FreedomPartner.allowsRedirect(to: uri, settings) else {
      throw OAuthError("invalid_request", "redirect_uri is not registered")
    }
    return uri
  }

  init(_ form: Form, redirectURI: String) throws(OAuthError) {
    self.redirectURI = redirectURI
    guard form["response_type"] == "code" else {
      throw OAuthError("unsupported_response_type", "response_type must be code")
    }
    state = try form.required("state")
    nonce = try form.required("nonce")
    scope = try Scope.parse(form["scope"])
    guard scope.contains("openid") else {
      throw OAuthError("invalid_scope", "scope does not contain openid")
    }
    challenge = try PKCEVerification.optionalChallenge(form)
  }
}
