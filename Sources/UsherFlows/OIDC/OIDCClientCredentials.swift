import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// Gets tokens for the client itself, without a user, by the client's own credential (RFC 6749
/// §4.4). The account that results needs no refresh token: the daemon asks again with the
/// credential.
package struct OIDCClientCredentials: FlowMachine, UnattendedGrant {
  package typealias Event = FlowEvent<OIDCCall>
  package typealias Answer = UsherFlows.Answer<OIDCCall>
  package static let kind = "clientCredentials"
  package static let summary = "Get tokens for this client itself, without a person."

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The scopes, separated by spaces. Default: none, for which the provider decides.
    package var scope: String?
    /// Whether the daemon refreshes the tokens in the background.
    package var keepAlive: Bool?
  }

  package let provider: Provider<OIDCSettings>
  let scope: String
  private let keepAlive: Bool
  /// The key to which the provider binds the tokens; nil if it binds them to none.
  var dpopKey: Sealed<Secret>?
  var state: UnattendedGrantState
  var problem: Problem?

  package static func begin(
    _ params: Params, _ context: FlowContext<OIDCSettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (OIDCClientCredentials, Answer) {
    let provider = context.provider
    guard provider.settings.clientCredentialsGrant else {
      throw UsherError(
        .permissionDenied,
        "provider \(provider.name) has no client_credentials_grant in its configuration")
    }
    let flow = OIDCClientCredentials(
      provider: provider,
      scope: try params.scope.map { (scope) throws(UsherError) in
        try OIDCRequest.words(of: scope)
      } ?? "",
      keepAlive: params.keepAlive ?? false, state: .discovering(RetryBackoff()))
    return (flow, .proceed([.discover]))
  }

  package var view: FlowView { stateView }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    process(event, &transition)
  }

  func request(_ metadata: OIDCMetadata) -> OIDCCall { .clientCredentials(scope: scope, metadata) }

  /// Returns the account of the client. Its subject is the client id, as in an access token for a
  /// client (RFC 9068 §2.2).
  func account() -> AccountGrant {
    let clientID = provider.settings.clientID
    var grant = AccountGrant(
      subject: clientID, label: "client \(clientID)",
      attributes: ["grant": .string(OIDCProvider.clientGrant)], keepAlive: keepAlive, tokens: nil)
    grant.signInOptions = SignInOptions(kind: Self.kind)
    return grant
  }
}
