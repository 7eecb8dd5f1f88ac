package import UsherCore

/// The section `[provider.identity_assertion]`: how the daemon gets tokens for a person who has
/// signed in at another provider, the identity provider of the organization
/// (draft-ietf-oauth-identity-assertion-authz-grant).
package struct OIDCIdentityAssertion: SettingsSection {
  /// The name of the identity provider in the configuration; nil means that there are no such
  /// tokens.
  package var provider: ProviderName?
  /// The audience of the assertions; nil means the issuer of this provider.
  package var audience: String?
  /// The resource for which the tokens are (RFC 8707); nil if this provider decides.
  package var resource: String?

  package static var blank: OIDCIdentityAssertion { OIDCIdentityAssertion() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&provider, "provider") { $0.rawValue.configNameViolation }
    table.setting(&audience, "audience") { $0.visibleViolation(upTo: 1024) }
    table.setting(&resource, "resource", violation: OIDCAudienceParameter.resource.violation)
    if provider == nil, self != .blank { table.reportProblem("provider", "is missing") }
  }
}
