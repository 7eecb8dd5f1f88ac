public import UsherCore

/// The names of the kept credentials; never a value.
public struct CredentialList: Method, Equatable {
  public static let name = "credential.list"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let summary = "The names of the kept credentials; never a value."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable {
    public var credentials: [CredentialList.Entry]

    public init(credentials: [CredentialList.Entry]) {
      self.credentials = credentials
    }
  }

  public struct Entry: Codable, Sendable, Equatable {
    public var name: String
    /// `store`, or `systemd` for one that came by LoadCredential=.
    public var source: Source
    @Nullable public var setAt: Timestamp?

    public enum Source: String, Codable, Sendable, CaseIterable { case store, systemd }

    public init(name: String, source: Source, setAt: Timestamp?) {
      self.name = name
      self.source = source
      self.setAt = setAt
    }
  }
}
