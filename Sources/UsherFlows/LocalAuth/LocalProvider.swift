package import JSONRPC
package import UsherConfig

/// The daemon's own provider, for local authentication.
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
