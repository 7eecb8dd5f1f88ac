package import JSONRPC
package import UsherConfig
package import UsherCore

/// The provider definition of GoPay Verify. GoPay does not use OAuth; the credentials sign its
/// requests.
package enum GoPayProvider: ProviderDefinition {
  package static let flows: [any FlowMachine.Type] = [VerifyIdentity.self]
  package static let tokenAttributes: Set = [GoPayTokens.deviceAttribute]

  package static func tokens(
    _ provider: Provider<GoPaySettings>, attributes: [String: JSONValue], installation: String?
  ) -> TokenHandling {
    .known(GoPayTokens(provider.settings, attributes))
  }

  package static func oauthClient(_ settings: GoPaySettings) -> OAuthClient {
    OAuthClient(id: settings.clientID, credential: nil, auth: .none)
  }

  package static func credentialNames(_ settings: GoPaySettings) -> [String] {
    settings.credentialNames
  }

  package static func flaw(
    of credential: Secret, named name: String, _ settings: GoPaySettings
  ) -> String? {
    name == settings.privateKeyCredential && (try? SNAPPrivateKey(credential)) == nil
      ? UnusableKey.sentence : nil
  }

  package static func probe(_ provider: Provider<GoPaySettings>) -> ProviderProbe? {
    .gopay(provider.settings)
  }

  package static func followUp(
    _ provider: Provider<GoPaySettings>, attributes: [String: JSONValue]
  ) -> (any AccountFollowUp)? {
    IdentityVerdict(provider.settings, attributes)
  }

  package static func callback(_ settings: GoPaySettings) -> (any CallbackDialect)? {
    GoPayCallback(settings)
  }
}
