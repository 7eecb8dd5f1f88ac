package import JSONRPC
package import UsherConfig

/// The provider definition of Truecaller OTP. Truecaller does not use OAuth; most calls carry the
/// app key.
package enum TruecallerProvider: ProviderDefinition {
  package static let flows: [any FlowMachine.Type] = [VerifyPhone.self]

  package static func tokens(
    _ provider: Provider<TruecallerSettings>, attributes: [String: JSONValue], installation: String?
  ) -> TokenHandling {
    .known(PlainTokens())
  }

  package static func oauthClient(_ settings: TruecallerSettings) -> OAuthClient {
    OAuthClient(id: settings.clientID ?? "", credential: settings.appKeyCredential, auth: .none)
  }

  package static func signatureKeys(_ settings: TruecallerSettings) -> SignatureKeySource? {
    SignatureKeySource(url: settings.keysURL, call: TruecallerCall.keys) {
      SignatureKey(truecaller: $0)
    }
  }

  package static func probe(_ provider: Provider<TruecallerSettings>) -> ProviderProbe? {
    .truecaller
  }
}
