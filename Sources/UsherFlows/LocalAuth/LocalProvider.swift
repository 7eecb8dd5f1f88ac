package import JSONRPC
package import UsherConfig

/// The provider definition of `local`, the daemon's own provider for local authentication.
package enum LocalProvider: ProviderDefinition {
  package static let flows: [any FlowMachine.Type] = [LocalAuthenticate.self]

  package static func tokens(
    _ provider: Provider<LocalProviderSettings>, attributes: [String: JSONValue],
    installation: String?
  ) -> TokenHandling {
    .known(PlainTokens())
  }

  package static func oauthClient(_ settings: LocalProviderSettings) -> OAuthClient {
    OAuthClient(id: "", credential: nil, auth: .none)
  }
}
