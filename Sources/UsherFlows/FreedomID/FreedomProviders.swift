package import JSONRPC
package import UsherConfig

/// Freedom ID in mode `device`: the daemon replaces the SDK and has its API key.
package enum FreedomDeviceProvider: ProviderDefinition {
  package typealias Settings = FreedomIDSettings

  package static let flows: [any FlowMachine.Type] = [FreedomDeviceAuthorize.self]

  package static func grant(_ text: String) -> String? { DataGrant(either: text)?.rawValue }
}

/// Freedom ID in mode `oauth2`: the partner API.
package enum FreedomPartnerProvider: ProviderDefinition {
  package typealias Settings = FreedomIDSettings

  package static let flows: [any FlowMachine.Type] = [
    FreedomPartnerAuthorize.self, FreedomRequestProfile.self, FreedomCreateUser.self,
    FreedomUpdateUser.self,
  ]

  package static func grant(_ text: String) -> String? { PartnerGrant(either: text)?.text }
}

/// The parts of the definition that modes `device` and `oauth2` have in common.
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

/// Freedom ID in mode `oidc`. Apart from the settings it is an OpenID provider like any other.
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
