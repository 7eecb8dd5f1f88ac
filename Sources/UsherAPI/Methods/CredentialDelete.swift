/// Deletes a stored provider credential.
public struct CredentialDelete: Method, Equatable {
  public static let name = "credential.delete"
  public static let traits = MethodTraits(access: .admin, audit: .everything)
  public static let summary = "Delete a stored credential."
  public typealias Reply = Done

  public var name: String

  public init(name: String) {
    self.name = name
  }
}
