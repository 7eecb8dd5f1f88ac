package import JSONRPC

/// A user's identity according to an ID token or the userinfo endpoint.
package struct PersonClaims: Codable, Sendable, Equatable {
  package var subject: String
  /// The standard claims of OIDC Core (§5.1), cleaned and limited in length; no other claims.
  package var profile: [String: JSONValue]

  /// Creates the claims; nil without a `sub` of 1 to 255 bytes (§2) free of control characters.
  package init?(_ claims: [String: JSONValue]) {
    guard let subject = claims["sub"]?.stringValue, (1...255).contains(subject.utf8.count),
      subject.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
    else { return nil }
    self.subject = subject
    let standard = claims.filter { Self.standard.contains($0.key) && !$0.value.isNull }
    profile = standard.compactMapValues { ProviderText.clean($0) }
  }

  /// The name of the user for display: the name, an e-mail address, a user name, or else the
  /// subject.
  package var label: String {
    let names = ["name", "email", "preferred_username"].lazy.compactMap { profile[$0]?.stringValue }
    return names.first { !$0.isEmpty }.map { ProviderText.clean($0) } ?? subject
  }

  /// Returns these claims, overridden by the claims of `newer`.
  package func merging(_ newer: PersonClaims) -> PersonClaims {
    copy(self) { $0.profile.merge(newer.profile) { _, newer in newer } }
  }

  private static let standard: Set<String> = [
    "name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "profile",
    "picture", "website", "email", "email_verified", "gender", "birthdate", "zoneinfo", "locale",
    "phone_number", "phone_number_verified", "address", "updated_at",
  ]
}
