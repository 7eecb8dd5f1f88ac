import UsherConfig

/// The provider definition of Truecaller OTP. Truecaller does not use OAuth; most calls carry the
/// app key.
struct TruecallerProvider: ProviderDefinition {
  static let flows: [any FlowMachine.Type] = [VerifyPhone.self]

  let provider: Provider<TruecallerSettings>

  var oauthClient: OAuthClient {
    OAuthClient(id: settings.clientID ?? "", credential: settings.appKeyCredential, auth: .none)
  }

  var signatureKeys: SignatureKeySource? {
    SignatureKeySource(url: settings.keysURL, call: TruecallerCall.keys) {
      SignatureKey(truecaller: $0)
    }
  }

  var probe: ProviderProbe? { .truecaller }
}
