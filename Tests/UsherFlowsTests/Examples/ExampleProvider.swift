import UsherConfig

@testable import UsherFlows

/// Provider definition for `example`. It has no OAuth; its calls carry the API key.
struct ExampleProvider: ProviderDefinition {
  static let flows: [any FlowMachine.Type] = [ExampleSignIn.self]

  let provider: Provider<ExampleSettings>

  var oauthClient: OAuthClient {
    OAuthClient(id: "", credential: settings.apiKeyCredential, auth: .none)
  }
}
