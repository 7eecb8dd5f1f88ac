package import JSONRPC
package import UsherConfig
@testable package import UsherFlows

/// Provider definition for `example`. It has no OAuth; its calls carry the API key.
package enum ExampleProvider: ProviderDefinition {
  package static let flows: [any FlowMachine.Type] = [ExampleSignIn.self]

  package static func tokens(
    _ provider: Provider<ExampleSettings>, attributes: [String: JSONValue], installation: String?
  ) -> TokenHandling {
    .known(PlainTokens())
  }

  package static func oauthClient(_ settings: ExampleSettings) -> OAuthClient {
    OAuthClient(id: "", credential: settings.apiKeyCredential, auth: .none)
  }
}
