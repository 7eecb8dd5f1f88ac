import UsherAPI
package import UsherConfig

/// The definitions of all varieties of provider. A variety is a provider type, or one mode of it.
package enum ProviderRegistry {
  /// Returns the definition of a variety of provider. A new variety adds one line here.
  package static func definition(of variety: ProviderVariety) -> any ProviderDefinition.Type {
    switch variety {
    case .oidc: OIDCProvider.self
    case .oauth2: OAuth2Provider.self
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

  /// The account attributes that ``ProviderDefinition/tokens(attributes:installation:)`` reads,
  /// over all varieties.
  package static let tokenAttributes: Set<String> = ProviderVariety.allCases.reduce(into: []) {
    $0.formUnion(definition(of: $1).tokenAttributes)
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

  /// Returns the names of the parameters of a flow; empty if the variety has no such flow.
  package static func parameterNames(
    of kind: String, at variety: ProviderVariety
  ) -> Set<String> {
    flow(kind, of: variety).map { parameterNames($0) } ?? []
  }

  private static func namesAccount(_ type: any FlowMachine.Type) -> Bool {
    parameterNames(type).contains("account")
  }

  private static func parameterNames<Machine: FlowMachine>(_ type: Machine.Type) -> Set<String> {
    guard case .object(let members) = StrictDecoding.schema(of: Machine.Params.self) else {
      return []
    }
    return Set(members.map(\.name))
  }
}

extension ProviderConfig {
  package var definition: any ProviderDefinition {
    ProviderRegistry.definition(of: settings.variety).init(config: self)
  }

  /// The name of the credential that authenticates the client; nil for a public client.
  package var credentialName: String? { definition.oauthClient.credential }
}

extension ProviderDefinition {
  fileprivate init(config: ProviderConfig) {
    guard let provider = Provider<Settings>(config) else {
      preconditionFailure("\(config.settings.variety) is defined for other settings than its own")
    }
    self.init(provider: provider)
  }
}
