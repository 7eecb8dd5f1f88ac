import JSONRPC
public import UsherCore

/// Returns the names of the provider credentials, without their values.
public struct CredentialList: Method, Equatable {
  public static let name = "credential.list"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let subject = Subject<Self>.method
  public static let summary = "Returns the names of the provider credentials, without their values."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The credentials, sorted by name.
    public var credentials: [CredentialList.Entry]

    public init(credentials: [CredentialList.Entry]) { self.credentials = credentials }
  }

  public struct Entry: Codable, Sendable, Equatable, SchemaDocumented {
    /// The name of the credential, as the configuration of a provider states it.
    public var name: String
    /// `store`, or `systemd` for a credential that systemd passes with `LoadCredential=`.
    public var source: Source
    /// The time at which the credential was stored; null if systemd passes it.
    @Nullable public var setAt: Timestamp?

    public enum Source: String, Codable, Sendable, CaseIterable { case store, systemd }

    public init(name: String, source: Source, setAt: Timestamp?) {
      self.name = name
      self.source = source
      self.setAt = setAt
    }
  }

  public static let example = MethodExample(
    [:],
    returns: [
      "credentials": [["name": "work-client-secret", "source": "store", "setAt": .exampleTime]]
    ])
}
