import JSONRPC

/// Stores a provider credential encrypted, in place of an earlier one with the same name.
public struct CredentialSet: Method, Equatable {
  public static let name = "credential.set"
  public static let traits = MethodTraits(access: .admin, repetition: .always, audit: .everything)
  public static let subject = Subject<Self>.method
  public static let summary =
    "Stores a provider credential encrypted, in place of an earlier one with the same name."

  /// The name of the credential, as the configuration of a provider states it.
  public var name: String
  /// The credential, such as a client secret. It is never returned.
  public var value: WireSecret

  public init(name: String, value: WireSecret) {
    self.name = name
    self.value = value
  }

  public static let example = MethodExample(
    ["name": "work-client-secret", "value": "s3cret"], returns: [:])
}
