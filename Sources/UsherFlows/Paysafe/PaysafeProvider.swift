package import JSONRPC
package import UsherConfig

/// The provider definition of Paysafe Embedded Wallets.
package enum PaysafeProvider: ProviderDefinition {
  package static let flows: [any FlowMachine.Type] = [
    PaysafeAuthorize.self, PaysafeOperation.self, PaysafeSCA.self,
  ]
  package static let hasScopes = true
  package static let tokenAttributes: Set = [PaysafeTokens.brandAttribute]

  package static func tokens(
    _ provider: Provider<PaysafeSettings>, attributes: [String: JSONValue], installation: String?
  ) -> TokenHandling {
    .known(PaysafeTokens(provider.settings, attributes))
  }

  /// Returns the OAuth client. It authenticates by HTTP Basic, with id and secret URL-encoded first
  /// (provider contract §2.2); without a configured credential it is a public client.
  package static func oauthClient(_ settings: PaysafeSettings) -> OAuthClient {
    OAuthClient(
      id: settings.clientID, credential: settings.clientCredential,
      auth: settings.clientCredential == nil ? .none : .basic)
  }

  package static func probe(_ provider: Provider<PaysafeSettings>) -> ProviderProbe? {
    .paysafe(provider)
  }
}
