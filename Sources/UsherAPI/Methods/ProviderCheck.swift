import JSONRPC
public import UsherCore

/// Tests a provider: its discovery document, credential, keys and clock skew.
public struct ProviderCheck: Method, Equatable {
  public static let name = "provider.check"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary =
    "Tests a provider: its discovery document, credential, keys and clock skew."

  public var provider: ProviderName

  public init(provider: ProviderName) { self.provider = provider }

  public struct Reply: Codable, Sendable, Equatable {
    public var provider: ProviderName
    /// Whether the provider passed all tests.
    public var healthy: Bool
    public var findings: [ProviderCheck.Finding]

    public init(provider: ProviderName, healthy: Bool, findings: [ProviderCheck.Finding]) {
      self.provider = provider
      self.healthy = healthy
      self.findings = findings
    }
  }

  public struct Finding: Codable, Sendable, Equatable {
    /// The name of the test: `discovery`, `keys`, `credential`, `clock`.
    public var subject: String
    /// Whether the provider passed this test.
    public var fine: Bool
    public var message: String

    public init(subject: String, fine: Bool, message: String) {
      self.subject = subject
      self.fine = fine
      self.message = message
    }
  }
}

extension ProviderCheck {
  public static let example = MethodExample(
    ["provider": "work"],
    returns: [
      "provider": "work", "healthy": true,
      "findings": [
        ["subject": "discovery", "fine": true, "message": "issuer https://id.example"]
      ],
    ])

  public static let memberDescriptions = ["provider": "The name of the provider."]
}

extension ProviderCheck.Reply: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "provider": "The name of the provider.",
    "healthy": "Whether all tests succeeded.",
    "findings": "The results of the tests.",
  ]
}

extension ProviderCheck.Finding: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "subject": "The name of the test: `discovery`, `keys`, `credential`, `clock`.",
    "fine": "Whether the test succeeded.",
    "message": "The result as a sentence for the operator.",
  ]
}
