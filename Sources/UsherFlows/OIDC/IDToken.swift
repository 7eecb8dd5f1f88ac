package import UsherCore

/// An ID token that a provider issued for the account's user, to be handed out to clients.
package struct IDToken: Codable, Sendable, Equatable {
  /// The token in compact form.
  package var token: Sealed<Secret>
  /// The claim `exp`.
  package var expiresAt: Timestamp

  package init(token: Sealed<Secret>, expiresAt: Timestamp) {
    self.token = token
    self.expiresAt = expiresAt
  }
}

/// The claims of a sign-in's ID token that stay true until the next sign-in: how the provider
/// authenticated the user, and what the ID tokens of refreshes are compared with (OIDC Core §12.2).
package struct SignInClaims: Codable, Sendable, Equatable {
  /// The class of the authentication (`acr`); nil if the provider did not name it.
  package var authenticationClass: String?
  /// The methods of the authentication (`amr`); nil if the provider did not name them.
  package var authenticationMethods: [String]?
  /// The time at which the user authenticated at the provider (`auth_time`); nil if the provider
  /// did not name it.
  package var authenticatedAt: Timestamp?
  /// The claim `azp`; nil without one.
  package var authorizedParty: String?
  /// The claim `nonce`; nil without one.
  package var nonce: Sealed<Secret>?

  package init() {}
}
