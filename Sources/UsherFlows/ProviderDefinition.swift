package import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// Everything that the daemon knows about one variety of provider: a provider type, or one mode of
/// it. A new variety needs a folder with a conforming type, a line in
/// ``ProviderRegistry/definition(of:)``, its settings, and its fake in the sandbox.
package protocol ProviderDefinition<Settings> {
  associatedtype Settings: ProviderTypeSettings

  /// The provider's flows; the flow that signs users in comes first.
  static var flows: [any FlowMachine.Type] { get }

  /// Returns how the tokens of an account are handled.
  ///
  /// - Parameters:
  ///   - attributes: The attributes of the account.
  ///   - installation: The id of the owner's installation; nil if it is not known.
  static func tokens(
    _ provider: Provider<Settings>, attributes: [String: JSONValue],
    installation: String?
  ) -> TokenHandling

  /// Returns the daemon's identity as a client of the provider's OAuth endpoints. A provider
  /// without OAuth has no client ID.
  static func oauthClient(_ settings: Settings) -> OAuthClient

  /// Returns the names of all credentials that the daemon's calls to the provider may need.
  static func credentialNames(_ settings: Settings) -> [String]

  /// Returns why the value of a credential cannot be used, without any part of it; nil if it can.
  /// The text continues a sentence that begins with the credential's name.
  static func flaw(of credential: Secret, named name: String, _ settings: Settings) -> String?

  /// Returns the request that shows whether the provider is usable as configured; nil if there is
  /// no request without side effects.
  static func probe(_ provider: Provider<Settings>) -> ProviderProbe?

  /// Returns the value that handles later reports about an account; nil if the provider sends none.
  static func followUp(
    _ provider: Provider<Settings>, attributes: [String: JSONValue]
  ) -> (any AccountFollowUp)?

  /// Returns the form of the calls that the provider makes to the daemon; nil if it makes none, or
  /// if no listener is configured.
  static func callback(_ settings: Settings) -> (any CallbackDialect)?

  /// The source of the keys for the provider's signatures; nil if it signs nothing but ID tokens.
  static func signatureKeys(_ settings: Settings) -> SignatureKeySource?

  /// The names of the account attributes that ``tokens(_:attributes:installation:)`` reads.
  static var tokenAttributes: Set<String> { get }

  /// Whether a caller can request an access token with only a part of the account's scope.
  static var hasScopes: Bool { get }

  /// Returns the canonical spelling of a grant; nil if the provider has no such grant that users
  /// are asked for.
  static func grant(_ text: String) -> String?
}

extension ProviderDefinition {
  package static func credentialNames(_ settings: Settings) -> [String] {
    [oauthClient(settings).credential].compactMap(\.self)
  }
  package static func flaw(
    of credential: Secret, named name: String, _ settings: Settings
  ) -> String? { nil }
  package static func probe(_ provider: Provider<Settings>) -> ProviderProbe? { nil }
  package static func followUp(
    _ provider: Provider<Settings>, attributes: [String: JSONValue]
  ) -> (any AccountFollowUp)? { nil }
  package static func callback(_ settings: Settings) -> (any CallbackDialect)? { nil }
  package static func signatureKeys(_ settings: Settings) -> SignatureKeySource? { nil }
  package static var tokenAttributes: Set<String> { [] }
  package static var hasScopes: Bool { false }
  package static func grant(_ text: String) -> String? { nil }
}
