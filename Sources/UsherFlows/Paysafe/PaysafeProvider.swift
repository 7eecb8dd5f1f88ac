import JSONRPC
import UsherConfig

/// The provider definition of Paysafe Embedded Wallets.
struct PaysafeProvider: ProviderDefinition {
  static let flows: [any FlowMachine.Type] = [
    PaysafeAuthorize.self, PaysafeAuthenticate.self, PaysafeOperation.self, PaysafeSCA.self,
  ]
  static let hasScopes = true
  static let tokenAttributes: Set = [PaysafeTokens.brandAttribute]

  let provider: Provider<PaysafeSettings>

  func tokens(attributes: [String: JSONValue], installation: String?) -> TokenHandling {
    .known(PaysafeTokens(settings, attributes))
  }

  /// The OAuth client. It authenticates by HTTP Basic, with id and secret URL-encoded first
  /// (provider contract §2.2); without a configured credential it is a public client.
  var oauthClient: OAuthClient {
    OAuthClient(
      id: settings.clientID, credential: settings.clientCredential,
      auth: settings.clientCredential == nil ? .none : .basic)
  }

  var probe: ProviderProbe? { .paysafe(provider) }
}
