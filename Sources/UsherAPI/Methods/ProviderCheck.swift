import JSONRPC
public import UsherCore

/// Tests a provider: its discovery document, credential, keys and clock skew.
public struct ProviderCheck: Method, Equatable {
  public static let name = "provider.check"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary =
    "Tests a provider: its discovery document, credential, keys and clock skew."

  /// The name of the provider.
  public var provider: ProviderName

  public init(provider: ProviderName) { self.provider = provider }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The name of the provider.
    public var provider: ProviderName
    /// Whether the provider passed all tests.
    public var healthy: Bool
    /// The results of the tests.
    public var findings: [ProviderCheck.Finding]

    public init(provider: ProviderName, healthy: Bool, findings: [ProviderCheck.Finding]) {
      self.provider = provider
      self.healthy = healthy
      self.findings = findings
    }
  }

  public struct Finding: Codable, Sendable, Equatable, SchemaDocumented {
    /// The name of the test: `discovery`, `keys`, `credential`, `clock`.
    public var subject: String
    /// Whether the provider passed this test.
    public var fine: Bool
    /// The result as a sentence for the operator.
    public var message: String

    public init(subject: String, fine: Bool, message: String) {
      self.subject = subject
      self.fine = fine
      self.message = message
    }
  }

  public static let example = MethodExample(
    ["provider": "work"],
    returns: [
      "provider": "work", "healthy": true,
      "findings": [
        ["subject": "discovery", "fine": true, "message": "issuer https://id.example"]
      ],
    ])
}
