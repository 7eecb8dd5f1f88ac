package import UsherConfig
package import UsherCore

/// Who the daemon is to a provider that speaks OAuth.
package struct OAuthClient: Sendable, Equatable {
  package var id: String
  /// The name of the client secret in the credential store; nil for a public client.
  package var credential: String?
  package var auth: OIDCClientAuth

  package init(id: String, credential: String?, auth: OIDCClientAuth) {
    self.id = id
    self.credential = credential
    self.auth = auth
  }
}

extension ProviderConfig {
  package var oauthClient: OAuthClient {
    switch settings {
    case .oidc(let settings):
      OAuthClient(
        id: settings.clientID, credential: settings.clientCredential, auth: settings.clientAuth)
    // Contract §2.2: Basic, id and secret url-encoded first.
    case .paysafe(let settings):
      OAuthClient(
        id: settings.clientID, credential: settings.clientCredential,
        auth: settings.clientCredential == nil ? .none : .basic)
    // It speaks no OAuth; its app key is what it is asked with.
    case .truecaller(let settings):
      OAuthClient(id: settings.clientID ?? "", credential: settings.appKeyCredential, auth: .none)
    // Nor does this one; what it signs with stands under names of their own.
    case .gopay(let settings):
      OAuthClient(id: settings.clientID, credential: nil, auth: .none)
    case .freedomid(let settings):
      OAuthClient(
        id: settings.clientID ?? "", credential: settings.credentialName,
        auth: settings.mode == .device ? .none : .basic)
    // Its clientKey is a member of each call.
    case .bsa(let settings):
      OAuthClient(id: "", credential: settings.clientKeyCredential, auth: .none)
    case .local: OAuthClient(id: "", credential: nil, auth: .none)
    }
  }

  /// The name of the credential the provider's calls need; nil for a public client.
  package var credentialName: String? { oauthClient.credential }

  /// The names of all credentials that its calls may need.
  package var credentialNames: [String] {
    switch settings {
    case .oidc, .paysafe, .truecaller, .freedomid, .bsa, .local: [credentialName].compactMap(\.self)
    case .gopay(let settings): settings.credentialNames
    }
  }
  /// Why the value of one of its credentials cannot be used; it goes on after the credential's name
  /// and has nothing of it.
  package func flaw(of credential: Secret, named name: String) -> String? {
    switch settings {
    case .oidc, .paysafe, .truecaller, .freedomid, .bsa, .local: nil
    case .gopay(let settings):
      name == settings.privateKeyCredential && (try? SNAPPrivateKey(credential)) == nil
        ? UnusableKey.sentence : nil
    }
  }
}
