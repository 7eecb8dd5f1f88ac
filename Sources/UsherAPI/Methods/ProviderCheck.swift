public import UsherCore

/// Tests a provider: its discovery document, credential, keys and clock skew.
public struct ProviderCheck: Method, Equatable {
  public static let name = "provider.check"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let summary = "Test a provider: discovery, credential, keys, clock skew."

  public var provider: ProviderName

  public init(provider: ProviderName) {
    self.provider = provider
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var provider: ProviderName
    /// Whether all tests succeeded.
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
    /// Whether the test succeeded.
    public var fine: Bool
    public var message: String

    public init(subject: String, fine: Bool, message: String) {
      self.subject = subject
      self.fine = fine
      self.message = message
    }
  }
}
