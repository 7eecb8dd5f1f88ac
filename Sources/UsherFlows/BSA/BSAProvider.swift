import UsherConfig

/// The provider definition of BSA, whose calls all carry the client key.
struct BSAProvider: ProviderDefinition {
  static let flows: [any FlowMachine.Type] = [
    BSAAuthenticate.self, BSARegister.self, BSAReregisterDevice.self, BSAVerifyContact.self,
  ]

  let provider: Provider<BSASettings>

  var oauthClient: OAuthClient {
    OAuthClient(id: "", credential: settings.clientKeyCredential, auth: .none)
  }

  var probe: ProviderProbe? { .bsa }
}
