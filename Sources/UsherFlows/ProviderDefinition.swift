package import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// Everything that the daemon knows about a configured provider of one variety: a provider type, or
/// one mode of it. A new variety needs a folder with a conforming type, a line in
/// ``ProviderRegistry/definition(of:)``, its settings, and its fake in the sandbox.
package protocol ProviderDefinition<Settings> {
  associatedtype Settings: ProviderTypeSettings

  /// The provider's flows; the flow that signs users in comes first.
  static var flows: [any FlowMachine.Type] { get }

  /// The names of the account attributes that ``tokens(attributes:installation:)`` reads.
  static var tokenAttributes: Set<String> { get }

  /// Whether a caller can request an access token with only a part of the account's scope.
  static var hasScopes: Bool { get }

  /// Whether the provider issues ID tokens that clients may receive.
  static var hasIDTokens: Bool { get }

  /// Returns the canonical spelling of a grant; nil if the provider has no such grant that users
  /// are asked for.
  static func grant(_ text: String) -> String?

  var provider: Provider<Settings> { get }

  init(provider: Provider<Settings>)

  /// Returns how the tokens of an account are handled. By default they are neither refreshed nor
  /// revoked.
  ///
  /// - Parameters:
  ///   - attributes: The attributes of the account.
  ///   - installation: The id of the owner's installation; nil if it is not known.
  func tokens(attributes: [String: JSONValue], installation: String?) -> TokenHandling

  /// The daemon's identity as a client of the provider's OAuth endpoints. A provider without OAuth
  /// has no client ID.
  var oauthClient: OAuthClient { get }

  /// The names of all credentials that the daemon's calls to the provider may need.
  var credentialNames: [String] { get }

  /// Returns why the value of a credential cannot be used, without any part of it; nil if it can.
  /// The text continues a sentence that begins with the credential's name.
  func flaw(of credential: Secret, named name: String) -> String?

  /// The request that shows whether the provider is usable as configured; nil if there is no
  /// request without side effects.
  var probe: ProviderProbe? { get }

  /// Returns the value that handles later reports about an account; nil if the provider sends none.
  ///
  /// - Parameter attributes: The attributes of the account.
  func followUp(attributes: [String: JSONValue]) -> (any AccountFollowUp)?

  /// The form of the calls that the provider makes to the daemon; nil if it makes none, or if no
  /// listener is configured.
  var callback: (any CallbackDialect)? { get }

  /// The source of the keys for the provider's signatures; nil if it signs nothing but ID tokens.
  var signatureKeys: SignatureKeySource? { get }
}

extension ProviderDefinition {
  package static var tokenAttributes: Set<String> { [] }
  package static var hasScopes: Bool { false }
  package static var hasIDTokens: Bool { false }
  package static func grant(_ text: String) -> String? { nil }

  package var settings: Settings { provider.settings }

  package func tokens(
    attributes: [String: JSONValue], installation: String?
  ) -> TokenHandling { .known(PlainTokens()) }
  package var credentialNames: [String] { [oauthClient.credential].compactMap(\.self) }
  package func flaw(of credential: Secret, named name: String) -> String? { nil }
  package var probe: ProviderProbe? { nil }
  package func followUp(attributes: [String: JSONValue]) -> (any AccountFollowUp)? { nil }
  package var callback: (any CallbackDialect)? { nil }
  package var signatureKeys: SignatureKeySource? { nil }
}
