/// A valid request for the log-in page. Its partner and redirect address are registered.
struct GoPayLoginRequest: Sendable, Hashable {
  let redirectURL: String
  let state: String
  let language: CaptureRequest.Language

  /// The largest size of `state`, in bytes.
  static let stateLimit = 32

  /// Checks the partner and the redirect address. Its refusals must not be sent by redirect.
  static func redirectURL(_ form: Form, _ settings: GoPayBackendSettings) throws(OAuthError)
    -> String
  {
    guard try form.required("merchantId") == GoPayPartner.merchantID else {
      throw OAuthError("invalid_request", "merchantId is not known")
    }
    let url = try form.required("redirectURL")
    guard GoPayPartner.redirects.allowsRedirect(to: url) || settings.redirectUrls.contains(url)
    else { throw OAuthError("invalid_request", "redirectURL is not registered") }
    return url
  }

  /// Parses the request. Its refusals may be sent to the app by redirect.
  init(_ form: Form, redirectURL: String) throws(OAuthError) {
    self.redirectURL = redirectURL
    guard try form.required("scopes") == "DEFAULT" else {
      throw OAuthError("invalid_request", "scopes is not DEFAULT")
    }
    state = try form.required("state")
    guard state.utf8.count <= Self.stateLimit else {
      throw OAuthError("invalid_request", "state is longer than \(Self.stateLimit) bytes")
    }
    guard let language = CaptureRequest.Language(rawValue: form["lang"] ?? "id") else {
      throw OAuthError("invalid_request", "lang is not id or en")
    }
    self.language = language
  }
}
