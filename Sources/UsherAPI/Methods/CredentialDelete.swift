import JSONRPC

/// Deletes a stored provider credential.
public struct CredentialDelete: Method, Equatable {
  public static let name = "credential.delete"
  public static let traits = MethodTraits(access: .admin, audit: .everything)
  public static let subject = Subject<Self>.method
  public static let summary = "Deletes a stored provider credential."

  /// The name of the credential.
  public var name: String

  public init(name: String) { self.name = name }

  public static let example = MethodExample(["name": "work-client-secret"], returns: [:])
}
