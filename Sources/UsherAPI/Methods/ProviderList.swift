import JSONRPC

/// Returns the configured providers that the caller may use.
public struct ProviderList: Method, Equatable {
  public static let name = "provider.list"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let subject = Subject<Self>.method
  public static let summary = "Returns the configured providers that the caller may use."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The providers.
    public var providers: [ProviderGet.Reply]

    public init(providers: [ProviderGet.Reply]) { self.providers = providers }
  }

  public static let example = MethodExample([:], returns: ["providers": [.exampleProvider]])
}
