import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// Gets tokens for the client itself, without a user, by the client's own credential (RFC 6749
/// §4.4). The account that results needs no refresh token: the daemon asks again with the
/// credential.
package struct OIDCClientCredentials: FlowMachine, DiscoveringMachine {
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
  private let scope: String
  private let keepAlive: Bool
  /// The key to which the provider binds the tokens; nil if it binds them to none.
  private var dpopKey: Sealed<Secret>?
  private var state: State
  var problem: Problem?

  private enum State: Codable, Sendable, Equatable {
    /// Fetches the provider's metadata. Next: requesting, or the end.
    case discovering(RetryBackoff)
    /// Requests the tokens. Next: the end.
    case requesting(OIDCMetadata, RetryBackoff)
  }

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

  package var view: FlowView {
    switch state {
    case .discovering: waiting("discovering", for: "the provider's metadata")
    case .requesting: waiting("requesting", for: "the provider's tokens")
    }
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case .discovering(let retrying): return discovering(event, retrying, &transition)
    case .requesting(let metadata, let retrying):
      return requesting(event, metadata, retrying, transition.now)
    }
  }
}

extension OIDCClientCredentials {
  mutating func discover(_ retrying: RetryBackoff) { state = .discovering(retrying) }

  mutating func discovered(
    _ metadata: OIDCMetadata, _ transition: inout TransitionContext
  ) -> Answer {
    dpopKey = provider.settings.dpopKey(&transition)
    return request(metadata, RetryBackoff())
  }

  private mutating func request(_ metadata: OIDCMetadata, _ retrying: RetryBackoff) -> Answer {
    state = .requesting(metadata, retrying.resumed)
    return .proceed([.call(call(metadata))])
  }

  private func call(_ metadata: OIDCMetadata) -> OIDCCall {
    .clientCredentials(scope: scope, metadata).bound(to: dpopKey)
  }

  private mutating func requesting(
    _ event: Event, _ metadata: OIDCMetadata, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch event {
    case .provider(.called(call(metadata), let outcome)) where !retrying.isPaused:
      let request = TokenRequest(provider, scope: scope)
      switch TokenReply(outcome, read: { TokenReply($0, to: request, at: now) }) {
      case .granted(let tokens): return .finish(Completion(grant: grant(of: tokens)))
      case .dead(let errorCode), .misconfigured(let errorCode), .rejected(let errorCode):
        return .fail(.rejected(errorCode))
      // The request is repeated although an earlier one may have succeeded: a token that nobody
      // knows expires by itself.
      case .retry(let message, let after):
        return retry(retrying, .unreachable(message), after: after) {
          $0.state = .requesting(metadata, $1)
        }
      case .unreadable(let message): return .fail(.protocolError(message))
      }
    case .woken where retrying.isPaused, .daemon(.resumed): return request(metadata, retrying)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  /// Returns the account of the client. Its subject is the client id, as in an access token for a
  /// client (RFC 9068 §2.2).
  private func grant(of tokens: TokenSet) -> AccountGrant {
    let clientID = provider.settings.clientID
    var grant = AccountGrant(
      subject: clientID, label: "client \(clientID)",
      attributes: ["grant": .string(OIDCProvider.clientGrant)], keepAlive: keepAlive,
      tokens: copy(tokens) {
        $0.idToken = nil
        $0.refreshToken = nil
        $0.refreshExpiresAt = nil
      })
    grant.isOfClient = true
    grant.signInOptions = SignInOptions(kind: Self.kind)
    grant.dpopKey = dpopKey
    return grant
  }
}
