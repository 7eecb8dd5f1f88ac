public import JSONRPC
public import UsherCore

/// Returns a provider with its type, its flows and their parameters.
public struct ProviderGet: Method, Equatable {
  public static let name = "provider.get"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary = "Returns a provider with its type, its flows and their parameters."

  /// The name of the provider.
  public var provider: ProviderName

  public init(provider: ProviderName) { self.provider = provider }

  public struct Reply: Codable, Sendable, Equatable {
    /// The name of the provider in the configuration.
    public var name: ProviderName
    /// The type of the provider: `oidc`, `oauth2`, `paysafe`, `truecaller`, `gopay`, `freedomid`,
    /// `bsa` or `local`.
    public var type: String
    /// The provider's issuer identifier; absent if it has none.
    public var issuer: String?
    /// The flows that the provider offers.
    public var flows: [ProviderGet.Flow]

    public init(
      name: ProviderName, type: String, issuer: String? = nil, flows: [ProviderGet.Flow]
    ) {
      self.name = name
      self.type = type
      self.issuer = issuer
      self.flows = flows
    }
  }

  public struct Flow: Codable, Sendable, Equatable, SchemaDocumented {
    /// The kind of the flow, for `flow.start`.
    public var kind: String
    /// A sentence that describes the flow.
    public var summary: String
    /// The JSON Schema (draft 7) of the flow's parameters, `params` of `flow.start`.
    public var params: JSONValue

    public init(kind: String, summary: String, params: JSONValue) {
      self.kind = kind
      self.summary = summary
      self.params = params
    }
  }

  public static let example = MethodExample(["provider": "work"], returns: .exampleProvider)
}

extension ProviderGet.Reply: SchemaDocumented {
  public static let component: SchemaComponent? = .init("Provider", "A configured provider.")
}
