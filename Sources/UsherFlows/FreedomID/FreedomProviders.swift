import JSONRPC
import UsherConfig

/// Freedom ID in mode `device`: the daemon replaces the SDK and has its API key.
struct FreedomDeviceProvider: ProviderDefinition {
  static let flows: [any FlowMachine.Type] = [FreedomDeviceAuthorize.self]

  let provider: Provider<FreedomIDSettings>

  static func grant(_ text: String) -> String? { DataGrant(either: text)?.rawValue }
}

/// Freedom ID in mode `oauth2`: the partner API.
struct FreedomPartnerProvider: ProviderDefinition {
  static let flows: [any FlowMachine.Type] = [
    FreedomPartnerAuthorize.self, FreedomRequestProfile.self, FreedomCreateUser.self,
    FreedomUpdateUser.self,
  ]

  let provider: Provider<FreedomIDSettings>

  static func grant(_ text: String) -> String? { PartnerGrant(either: text)?.text }
}

/// The parts of the definition that modes `device` and `oauth2` have in common.
extension ProviderDefinition where Settings == FreedomIDSettings {
  func tokens(attributes: [String: JSONValue], installation: String?) -> TokenHandling {
    .known(FreedomIDTokens(mode: settings.mode, device: installation))
  }

  var oauthClient: OAuthClient {
    OAuthClient(
      id: settings.clientID ?? "", credential: settings.credentialName,
      auth: settings.mode == .device ? .none : .basic)
  }

  var probe: ProviderProbe? { .freedomid(settings) }

  func followUp(attributes: [String: JSONValue]) -> (any AccountFollowUp)? {
    FreedomLogout(provider.name, attributes)
  }

  var callback: (any CallbackDialect)? { FreedomLogoutCallback(settings) }
}

/// Freedom ID in mode `oidc`. Apart from the settings it is an OpenID provider like any other.
struct FreedomOIDCProvider: ProviderDefinition {
  static let flows: [any FlowMachine.Type] = [OIDCAuthorize.self]

  let provider: Provider<OIDCSettings>

  func followUp(attributes: [String: JSONValue]) -> (any AccountFollowUp)? {
    FreedomLogout(provider.name, attributes)
  }
}
