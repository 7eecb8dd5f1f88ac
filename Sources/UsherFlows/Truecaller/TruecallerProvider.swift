package import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// Provider definition for Truecaller OTP. It has no OAuth; most calls carry the app key.
package enum TruecallerProvider: ProviderDefinition {
  package static let flows: [any FlowMachine.Type] = [VerifyPhone.self]

  package static func tokens(
    _ provider: ProviderConfig, _ settings: TruecallerSettings, attributes: [String: JSONValue],
    installation: String?
  ) -> TokenHandling {
    .known(PlainTokens())
  }

  package static func oauthClient(_ settings: TruecallerSettings) -> OAuthClient {
    OAuthClient(id: settings.clientID ?? "", credential: settings.appKeyCredential, auth: .none)
  }

  package static func probe(
    _ provider: ProviderConfig, _ settings: TruecallerSettings
  ) -> ProviderProbe? {
    .truecaller
  }
}
