/// What an app asks the log-in page for: the partner is registered, and the redirect is its own.
struct GoPayLoginRequest: Sendable, Hashable {
  let redirectURL: String
  let state: String
  let language: CaptureRequest.Language

  /// The most bytes of a `state`.
  static let stateLimit = 32

  /// Who asks, which nobody is redirected for.
  static func redirectURL(_ form: Form, _ settings: GoPaySettings) throws(Refusal) -> String {
    guard try form.required("merchantId") == GoPayPartner.merchantID else {
      throw Refusal("invalid_request", "merchantId is not known")
    }
    let url = try form.required("redirectURL")
    guard GoPayPartner.redirects.allowsRedirect(to: url) || settings.redirectUrls.contains(url)
    else { throw Refusal("invalid_request", "redirectURL is not registered") }
    return url
  }

  /// Checks all that may be told to the app by redirect.
  init(_ form: Form, redirectURL: String) throws(Refusal) {
    self.redirectURL = redirectURL
    guard try form.required("scopes") == "DEFAULT" else {
      throw Refusal("invalid_request", "scopes is not DEFAULT")
    }
    state = try form.required("state")
    guard state.utf8.count <= Self.stateLimit else {
      throw Refusal("invalid_request", "state is over \(Self.stateLimit) characters")
    }
    guard let language = CaptureRequest.Language(rawValue: form["lang"] ?? "id") else {
      throw Refusal("invalid_request", "lang is not id or en")
    }
    self.language = language
  }
}
