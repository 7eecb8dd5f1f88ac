package import JSONRPC
package import UsherConfig

/// The provider definition of BSA, whose calls all carry the client key.
package enum BSAProvider: ProviderDefinition {
  package static let flows: [any FlowMachine.Type] = [
    BSAAuthenticate.self, BSARegister.self, BSAReregisterDevice.self, BSAVerifyContact.self,
  ]

  package static func tokens(
    _ provider: Provider<BSASettings>, attributes: [String: JSONValue], installation: String?
  ) -> TokenHandling {
    .known(PlainTokens())
  }

  package static func oauthClient(_ settings: BSASettings) -> OAuthClient {
    OAuthClient(id: "", credential: settings.clientKeyCredential, auth: .none)
  }

  package static func probe(_ provider: Provider<BSASettings>) -> ProviderProbe? { .bsa }
}
