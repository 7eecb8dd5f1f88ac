package import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// The definitions of all varieties of provider. A variety is a provider type, or one mode of it.
package enum ProviderRegistry {
  /// Returns the definition of a variety of provider. A new variety adds one line here.
  package static func definition(of variety: ProviderVariety) -> any ProviderDefinition.Type {
    switch variety {
    case .oidc: OIDCProvider.self
    case .paysafe: PaysafeProvider.self
    case .truecaller: TruecallerProvider.self
    case .gopay: GoPayProvider.self
    case .freedomidDevice: FreedomDeviceProvider.self
    case .freedomidOAuth2: FreedomPartnerProvider.self
    case .freedomidOIDC: FreedomOIDCProvider.self
    case .bsa: BSAProvider.self
    case .local: LocalProvider.self
    }
  }

  package static func flows(of variety: ProviderVariety) -> [any FlowMachine.Type] {
    definition(of: variety).flows
  }

  /// Returns the flow of the given kind; nil if the variety has no such flow.
  package static func flow(_ kind: String, of variety: ProviderVariety) -> (any FlowMachine.Type)? {
    flows(of: variety).first { $0.kind == kind }
  }

  /// See ``ProviderDefinition/tokens(_:attributes:installation:)``.
  package static func tokens(
    of provider: ProviderConfig, attributes: [String: JSONValue], installation: String? = nil
  ) -> TokenHandling {
    provider.definition.tokens(provider, attributes, installation)
  }

  /// The account attributes that ``tokens(of:attributes:installation:)`` reads, over all varieties.
  package static let tokenAttributes: Set<String> = ProviderVariety.allCases.reduce(into: []) {
    $0.formUnion(definition(of: $1).tokenAttributes)
  }

  package static func probe(of provider: ProviderConfig) -> ProviderProbe? {
    provider.definition.probe(provider)
  }

  /// See ``ProviderDefinition/followUp(_:attributes:)``.
  ///
  /// - Parameter attributes: The attributes of the account.
  package static func followUp(
    of provider: ProviderConfig, attributes: [String: JSONValue]
  ) -> (any AccountFollowUp)? {
    provider.definition.followUp(provider, attributes)
  }

  package static func callback(of provider: ProviderConfig) -> (any CallbackDialect)? {
    provider.definition.callback(provider)
  }

  package static func signatureKeys(of provider: ProviderConfig) -> SignatureKeySource? {
    provider.definition.signatureKeys(provider)
  }

  package static func grant(_ text: String, of variety: ProviderVariety) -> String? {
    definition(of: variety).grant(text)
  }

  package static func hasScopes(_ variety: ProviderVariety) -> Bool {
    definition(of: variety).hasScopes
  }

  /// Returns the flow that signs a user in at this variety of provider.
  ///
  /// - Parameter isKnown: Whether the account exists already. Only then a flow that requires an
  ///   account can be used.
  /// - Returns: The flow's kind, and whether its params may name the account; nil if there is no
  ///   such flow.
  package static func signIn(
    of variety: ProviderVariety, isKnown: Bool = true
  ) -> (kind: String, namesAccount: Bool)? {
    flows(of: variety).first { isKnown || !$0.needsAccount }
      .map { ($0.kind, namesAccount($0)) }
  }

  private static func namesAccount<Machine: FlowMachine>(_ type: Machine.Type) -> Bool {
    guard case .object(let members) = StrictDecoding.schema(of: Machine.Params.self) else {
      return false
    }
    return members.contains { $0.name == "account" }
  }
}

extension ProviderConfig {
  fileprivate var definition: any ProviderDefinition.Type {
    ProviderRegistry.definition(of: settings.variety)
  }

  package var oauthClient: OAuthClient { definition.oauthClient(self) }

  /// The name of the credential that authenticates the client; nil for a public client.
  package var credentialName: String? { oauthClient.credential }

  package var credentialNames: [String] { definition.credentialNames(self) }

  /// See ``ProviderDefinition/flaw(of:named:_:)``.
  package func flaw(of credential: Secret, named name: String) -> String? {
    definition.flaw(of: credential, named: name, self)
  }
}

// Pass the untyped provider configuration to a definition as its own settings type.
extension ProviderDefinition {
  private static func provider(_ config: ProviderConfig) -> Provider<Settings> {
    guard let provider = Provider<Settings>(config) else {
      preconditionFailure("\(config.settings.variety) is defined for other settings than its own")
    }
    return provider
  }

  fileprivate static func tokens(
    _ config: ProviderConfig, _ attributes: [String: JSONValue], _ installation: String?
  ) -> TokenHandling {
    tokens(provider(config), attributes: attributes, installation: installation)
  }

  fileprivate static func oauthClient(_ config: ProviderConfig) -> OAuthClient {
    oauthClient(provider(config).settings)
  }

  fileprivate static func credentialNames(_ config: ProviderConfig) -> [String] {
    credentialNames(provider(config).settings)
  }

  fileprivate static func flaw(
    of credential: Secret, named name: String, _ config: ProviderConfig
  ) -> String? {
    flaw(of: credential, named: name, provider(config).settings)
  }

  fileprivate static func probe(_ config: ProviderConfig) -> ProviderProbe? {
    probe(provider(config))
  }

  fileprivate static func followUp(
    _ config: ProviderConfig, _ attributes: [String: JSONValue]
  ) -> (any AccountFollowUp)? {
    followUp(provider(config), attributes: attributes)
  }

  fileprivate static func signatureKeys(_ config: ProviderConfig) -> SignatureKeySource? {
    signatureKeys(provider(config).settings)
  }

  fileprivate static func callback(_ config: ProviderConfig) -> (any CallbackDialect)? {
    callback(provider(config).settings)
  }
}
