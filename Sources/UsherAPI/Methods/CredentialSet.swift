/// Stores a provider credential encrypted, in place of an earlier one with the same name.
public struct CredentialSet: Method, Equatable {
  public static let name = "credential.set"
  public static let traits = MethodTraits(access: .admin, repetition: .always, audit: .everything)
  public static let summary =
    "Store a provider credential, sealed; replaces an older one of the same name."
  public typealias Reply = Done

  public var name: String
  public var value: WireSecret

  public init(name: String, value: WireSecret) {
    self.name = name
    self.value = value
  }
}
