package import UsherCore

/// The client as which the daemon has registered itself at a provider (RFC 7591), without its
/// secrets.
package struct RegisteredClient: Equatable, Sendable {
  /// The beginning of the names under which registrations are stored as credentials.
  package static let credentialPrefix = "usherd.client."

  /// Returns the name under which the registration at a provider is stored.
  package static func credentialName(of provider: ProviderName) -> String {
    credentialPrefix + provider.rawValue
  }

  package static func isCredentialName(_ name: String) -> Bool {
    name.hasPrefix(credentialPrefix)
  }

  /// The issuer at which the client is registered. It is no client of any other server.
  package var issuer: String
  package var id: String
  /// Whether the provider has issued a client secret.
  package var hasSecret: Bool
  package var auth: OIDCClientAuth

  package init(issuer: String, id: String, hasSecret: Bool, auth: OIDCClientAuth) {
    self.issuer = issuer
    self.id = id
    self.hasSecret = hasSecret
    self.auth = auth
  }
}

extension ProviderConfig {
  /// Whether the provider has no client yet, so that the daemon must register itself first.
  package var needsRegistration: Bool {
    (settings as? OIDCSettings).map { $0.clientID.isEmpty } ?? false
  }

  /// Returns the provider with the client as which the daemon has registered itself. A provider
  /// with a `client_id`, and one of another issuer, is returned as it is.
  package func completed(by client: RegisteredClient?) -> ProviderConfig {
    guard let client, var settings = settings as? OIDCSettings, settings.clientID.isEmpty,
      settings.issuer.text.utf8.elementsEqual(client.issuer.utf8)
    else { return self }
    settings.clientID = client.id
    settings.clientAuth = client.auth
    if client.hasSecret {
      settings.clientCredential = RegisteredClient.credentialName(of: name)
    } else if client.auth == .none {
      settings.clientCredential = nil
    }
    var provider = self
    provider.settings = settings
    return provider
  }
}

extension Config {
  /// Returns the configuration with the clients as which the daemon has registered itself.
  package func completed(by clients: [ProviderName: RegisteredClient]) -> Config {
    guard !clients.isEmpty else { return self }
    var config = self
    config.providers = providers.map { $0.completed(by: clients[$0.name]) }
    return config
  }
}
