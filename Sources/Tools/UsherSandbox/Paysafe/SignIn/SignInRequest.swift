/// A valid authorization request. Its redirect URI is registered for its client.
struct SignInRequest: Sendable, Hashable {
  let client: Client
  let brand: Brand
  let redirectURI: String
  let state: String
  let challenge: String
  let strategy: Brand.Strategy
  let loginHint: String?
  let locale: String?
  let resetURL: String?

  /// Parses a request, except the fingerprint. Refusals may be sent to the client by redirect.
  init(
    _ form: Form, client: Client, brand: Brand, redirectURI: String
  ) throws(OAuthError) {
    guard form["response_type"] == "code" else {
      throw OAuthError("unsupported_response_type", "response_type must be code")
    }
    guard form["code_challenge_method"] == "S256" else {
      throw OAuthError("invalid_request", "code_challenge_method must be S256")
    }
    guard let challenge = form["code_challenge"], PKCEVerification.isChallenge(challenge) else {
      throw OAuthError("invalid_request", "code_challenge must be 43 base64url characters")
    }
    let state = try form.required("state")
    guard state.utf8.count <= 1024 else { throw OAuthError("invalid_request", "state is too long") }
    self.client = client
    self.brand = brand
    self.redirectURI = redirectURI
    self.state = state
    self.challenge = challenge
    strategy = try Self.strategy(form) ?? brand.strategy
    loginHint = try form.checked("login_hint", "at most 256 bytes") { $0.utf8.count <= 256 }
    locale = try form.checked("locale", "a language tag like en-GB") { $0.isLanguageTag }
    resetURL = try form.checked("reset_credentials_url", "an http or https URL") {
      ReturnURL($0) != nil
    }
  }

  private static func strategy(_ form: Form) throws(OAuthError) -> Brand.Strategy? {
    guard let name = form["login_strategy"] else { return nil }
    guard let strategy = Brand.Strategy(rawValue: name) else {
      throw OAuthError("invalid_request", "login_strategy must be PIN or PASSWORD")
    }
    return strategy
  }
}

extension Form {
  /// Returns an optional field; throws if it is present but invalid.
  fileprivate func checked(
    _ name: String, _ what: String, _ isRight: (String) -> Bool
  ) throws(OAuthError) -> String? {
    guard let value = self[name] else { return nil }
    guard isRight(value) else { throw OAuthError("invalid_request", "\(name) must be \(what)") }
    return value
  }
}

extension String {
  /// Whether the text has the shape of a language tag: a language and subtags (RFC 5646 §2.1).
  var isLanguageTag: Bool {
    let parts = split(separator: "-", omittingEmptySubsequences: false)
    return parts.enumerated().allSatisfy { index, part in
      (index == 0 ? 2...3 : 1...8).contains(part.utf8.count)
        && part.allSatisfy { $0.isASCII && ($0.isLetter || index > 0 && $0.isNumber) }
    } && utf8.count <= 35
  }
}
