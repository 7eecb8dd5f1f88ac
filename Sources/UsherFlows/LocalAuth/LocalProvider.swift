package import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// The daemon's own provider, for local authentication.
package enum LocalProvider: ProviderDefinition {
  package static let flows: [any FlowMachine.Type] = [LocalAuthenticate.self]

  package static func tokens(
    _ provider: ProviderConfig, _ settings: LocalProviderSettings, attributes: [String: JSONValue],
    installation: String?
  ) -> TokenHandling {
    .known(PlainTokens())
  }

  package static func oauthClient(_ settings: LocalProviderSettings) -> OAuthClient {
    OAuthClient(id: "", credential: nil, auth: .none)
  }
}
