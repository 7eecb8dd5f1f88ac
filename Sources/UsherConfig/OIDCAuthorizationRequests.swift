/// How the provider returns the answer to an authorization request (OAuth 2.0 Multiple Response
/// Type Encoding Practices §2.1).
package enum OIDCResponseMode: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  /// In the query of the redirect URI. It is the default of the code flow, so the parameter is not
  /// sent.
  case query
  /// In a form that the browser posts to the redirect URI (OAuth 2.0 Form Post Response Mode).
  case formPost = "form_post"
  /// Signed by the provider (JARM), in the mode that is the default of the code flow: the query.
  case jwt
  /// Signed by the provider, in the query.
  case queryJWT = "query.jwt"
  /// Signed by the provider, in a posted form.
  case formPostJWT = "form_post.jwt"

  /// Whether the browser posts the answer.
  package var isPosted: Bool {
    switch self {
    case .query, .jwt, .queryJWT: false
    case .formPost, .formPostJWT: true
    }
  }

  /// Whether the provider signs the answer.
  package var isSigned: Bool {
    switch self {
    case .query, .formPost: false
    case .jwt, .queryJWT, .formPostJWT: true
    }
  }
}

/// Whether the daemon sends the parameters of an authorization request to the provider itself, so
/// that the browser carries only a reference to them (RFC 9126).
package enum OIDCPushedRequests: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  /// If the provider requires it. A reference lives for a short time only, so a page that is opened
  /// late fails.
  case auto
  case always
  case never
}

/// Whether the daemon signs the parameters of an authorization request with the client's private
/// key (RFC 9101), so that nobody on the way can change them.
package enum OIDCSignedRequests: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  /// If the provider requires it.
  case auto
  case always
  case never
}
