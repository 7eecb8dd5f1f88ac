public import JSONRPC
public import UsherCore

/// Returns a provider with its type, its flows and their parameters.
public struct ProviderGet: Method, Equatable {
  public static let name = "provider.get"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary = "Returns a provider with its type, its flows and their parameters."

  public var provider: ProviderName

  public init(provider: ProviderName) { self.provider = provider }

  public struct Reply: Codable, Sendable, Equatable {
    public var name: ProviderName
    public var type: String
    public var flows: [ProviderGet.Flow]

    public init(name: ProviderName, type: String, flows: [ProviderGet.Flow]) {
      self.name = name
      self.type = type
      self.flows = flows
    }
  }

  public struct Flow: Codable, Sendable, Equatable {
    public var kind: String
    public var summary: String
    /// The JSON Schema of the flow's parameters, ``FlowStart/params``.
    public var params: JSONValue

    public init(kind: String, summary: String, params: JSONValue) {
      self.kind = kind
      self.summary = summary
      self.params = params
    }
  }
}

extension ProviderGet {
  public static let example = MethodExample(["provider": "work"], returns: .exampleProvider)

  public static let memberDescriptions = ["provider": "The name of the provider."]
}

extension ProviderGet.Reply: SchemaDocumented {
  public static let component: SchemaComponent? = .init("Provider", "A configured provider.")

  public static let memberDescriptions: [String: String] = [
    "name": "The name of the provider in the configuration.",
    "type": """
    The type of the provider: `oidc`, `paysafe`, `truecaller`, `gopay`, `freedomid`, `bsa` or \
    `local`.
    """,
    "flows": "The flows that the provider offers.",
  ]
}

extension ProviderGet.Flow: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "kind": "The kind of the flow, for `flow.start`.",
    "summary": "A sentence that describes the flow.",
    "params": "The JSON Schema (draft 7) of the flow's parameters.",
  ]
}
