package import JSONRPC
package import UsherConfig

/// Freedom ID on a device: the SDK's log-in, with an API key.
package enum FreedomDeviceProvider: ProviderDefinition {
  package typealias Settings = FreedomIDSettings

  package static let flows: [any FlowMachine.Type] = [FreedomDeviceAuthorize.self]

  package static func grant(_ text: String) -> String? { DataGrant(either: text)?.rawValue }
}

/// Freedom ID's partner API over OAuth 2.0.
package enum FreedomPartnerProvider: ProviderDefinition {
  package typealias Settings = FreedomIDSettings

  package static let flows: [any FlowMachine.Type] = [
    FreedomPartnerAuthorize.self, FreedomRequestProfile.self, FreedomCreateUser.self,
    FreedomUpdateUser.self,
  ]

  package static func grant(_ text: String) -> String? { PartnerGrant(either: text)?.text }
}

/// What Freedom ID on a device and the partner API share.
extension ProviderDefinition where Settings == FreedomIDSettings {
  package static func tokens(
    _ provider: Provider<FreedomIDSettings>, attributes: [String: JSONValue], installation: String?
  ) -> TokenHandling {
    .known(FreedomIDTokens(mode: provider.settings.mode, device: installation))
  }

  package static func oauthClient(_ settings: FreedomIDSettings) -> OAuthClient {
    OAuthClient(
      id: settings.clientID ?? "", credential: settings.credentialName,
      auth: settings.mode == .device ? .none : .basic)
  }

  package static func probe(_ provider: Provider<FreedomIDSettings>) -> ProviderProbe? {
    .freedomid(provider.settings)
  }

  package static func followUp(
    _ provider: Provider<FreedomIDSettings>, attributes: [String: JSONValue]
  ) -> (any AccountFollowUp)? {
    FreedomLogout(provider.name, attributes)
  }

  package static func callback(_ settings: FreedomIDSettings) -> (any CallbackDialect)? {
    FreedomLogoutCallback(settings)
  }
}

/// Freedom ID over OpenID Connect. Beside the settings, nothing differs from other providers.
package enum FreedomOIDCProvider: ProviderDefinition {
  package static let flows: [any FlowMachine.Type] = [OIDCAuthorize.self]
  package static let hasScopes = true

  package static func tokens(
    _ provider: Provider<OIDCSettings>, attributes: [String: JSONValue], installation: String?
  ) -> TokenHandling {
    OIDCProvider.tokens(provider, attributes: attributes, installation: installation)
  }

  package static func oauthClient(_ settings: OIDCSettings) -> OAuthClient {
    OIDCProvider.oauthClient(settings)
  }

  package static func followUp(
    _ provider: Provider<OIDCSettings>, attributes: [String: JSONValue]
  ) -> (any AccountFollowUp)? {
    FreedomLogout(provider.name, attributes)
  }
}
