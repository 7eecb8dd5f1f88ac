package import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// Everything that the daemon knows of one variety of provider. A new one is a folder with a type that
/// conforms, a line in ``ProviderRegistry/definition(of:)``, its settings, and its fake in the sandbox.
package protocol ProviderDefinition<Settings> {
  associatedtype Settings: ProviderTypeSettings

  /// The flows, the one that signs people in first.
  static var flows: [any FlowMachine.Type] { get }

  /// How the tokens of an account are handled.
  ///
  /// - Parameters:
  ///   - attributes: The attributes of the account.
  ///   - installation: The identifier of the owner's installation; nil if it is not known.
  static func tokens(
    _ provider: ProviderConfig, _ settings: Settings, attributes: [String: JSONValue],
    installation: String?
  ) -> TokenHandling

  /// What the daemon is to the provider's OAuth endpoints. A provider without OAuth has no client ID.
  static func oauthClient(_ settings: Settings) -> OAuthClient

  /// The names of all credentials that the provider's calls may need.
  static func credentialNames(_ settings: Settings) -> [String]

  /// Why the value of a credential cannot be used, without any part of it; nil if it can. The sentence
  /// goes on after the credential's name.
  static func flaw(of credential: Secret, named name: String, _ settings: Settings) -> String?

  /// The question that shows whether the provider can be used; nil if there is none so simple.
  static func probe(_ provider: ProviderConfig, _ settings: Settings) -> ProviderProbe?

  /// What the provider may yet tell of an account; nil if it tells nothing.
  static func followUp(
    _ provider: ProviderConfig, _ settings: Settings, attributes: [String: JSONValue]
  ) -> (any AccountFollowUp)?

  /// How the provider calls back; nil if it does not call, or nothing listens for it.
  static func callback(_ settings: Settings) -> (any CallbackDialect)?

  /// The attributes of an account that ``tokens(_:_:attributes:installation:)`` reads.
  static var tokenAttributes: Set<String> { get }

  /// Whether a part of an access token's scope can be asked for.
  static var hasScopes: Bool { get }

  /// The canonical spelling of a grant that people are asked for; nil if the provider has no such grant.
  static func grant(_ text: String) -> String?
}

extension ProviderDefinition {
  package static func credentialNames(_ settings: Settings) -> [String] {
    [oauthClient(settings).credential].compactMap(\.self)
  }
  package static func flaw(
    of credential: Secret, named name: String, _ settings: Settings
  ) -> String? { nil }
  package static func probe(
    _ provider: ProviderConfig, _ settings: Settings
  ) -> ProviderProbe? { nil }
  package static func followUp(
    _ provider: ProviderConfig, _ settings: Settings, attributes: [String: JSONValue]
  ) -> (any AccountFollowUp)? { nil }
  package static func callback(_ settings: Settings) -> (any CallbackDialect)? { nil }
  package static var tokenAttributes: Set<String> { [] }
  package static var hasScopes: Bool { false }
  package static func grant(_ text: String) -> String? { nil }
}
