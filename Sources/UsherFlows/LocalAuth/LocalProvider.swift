import UsherConfig

/// The provider definition of `local`, the daemon's own provider for local authentication.
struct LocalProvider: ProviderDefinition {
  static let flows: [any FlowMachine.Type] = [LocalAuthenticate.self]

  let provider: Provider<LocalProviderSettings>

  var oauthClient: OAuthClient { OAuthClient(id: "", credential: nil, auth: .none) }
}
