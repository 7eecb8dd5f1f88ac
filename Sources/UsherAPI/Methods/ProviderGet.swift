public import JSONRPC
public import UsherCore

/// Returns a provider with its type, its flows and their parameters.
public struct ProviderGet: Method, Equatable {
  public static let name = "provider.get"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let summary = "Return one provider: its type, its flows and their parameters."

  public var provider: ProviderName

  public init(provider: ProviderName) {
    self.provider = provider
  }

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
    /// The JSON Schema of ``FlowStart/params``.
    public var params: JSONValue

    public init(kind: String, summary: String, params: JSONValue) {
      self.kind = kind
      self.summary = summary
      self.params = params
    }
  }
}
