import JSONRPC
import UsherConfig
import UsherCore

/// The provider definition of GoPay Verify. GoPay does not use OAuth; the credentials sign its
/// requests.
struct GoPayProvider: ProviderDefinition {
  static let flows: [any FlowMachine.Type] = [VerifyIdentity.self]
  static let tokenAttributes: Set = [GoPayTokens.deviceAttribute]

  let provider: Provider<GoPaySettings>

  func tokens(attributes: [String: JSONValue], installation: String?) -> TokenHandling {
    .known(GoPayTokens(settings, attributes))
  }

  var oauthClient: OAuthClient { OAuthClient(id: settings.clientID, credential: nil, auth: .none) }

  var credentialNames: [String] {
    [
      settings.exchangeCredential, settings.privateKeyCredential,
      settings.clientSecretCredential, settings.callbackCredential,
    ].compactMap(\.self)
  }

  func flaw(of credential: Secret, named name: String) -> String? {
    name == settings.privateKeyCredential && (try? SNAPPrivateKey(credential)) == nil
      ? UnusableKey.sentence : nil
  }

  var probe: ProviderProbe? { .gopay(settings) }

  func followUp(attributes: [String: JSONValue]) -> (any AccountFollowUp)? {
    IdentityVerdict(settings, attributes)
  }

  var callback: (any CallbackDialect)? { GoPayCallback(settings) }
}
