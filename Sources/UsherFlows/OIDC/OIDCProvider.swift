package import JSONRPC
package import UsherConfig

/// The definition of providers that speak OpenID Connect and publish their metadata (OIDC
/// Discovery).
package enum OIDCProvider: ProviderDefinition {
  package static let flows: [any FlowMachine.Type] = [OIDCAuthorize.self, OIDCDevice.self]
  package static let hasScopes = true

  package static func tokens(
    _ provider: Provider<OIDCSettings>, attributes: [String: JSONValue], installation: String?
  ) -> TokenHandling {
    .discovered { OIDCTokens(provider: provider, metadata: $0) }
  }

  package static func oauthClient(_ settings: OIDCSettings) -> OAuthClient {
    OAuthClient(
      id: settings.clientID, credential: settings.clientCredential, auth: settings.clientAuth)
  }
}
