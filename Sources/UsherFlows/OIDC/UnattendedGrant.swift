import UsherConfig
import UsherCore

/// A flow that gets tokens by one request, without a user. The account that results needs no
/// refresh token: the daemon repeats the request.
protocol UnattendedGrant: DiscoveringMachine {
  var provider: Provider<OIDCSettings> { get }
  /// The scope to request; empty if the provider decides.
  var scope: String { get }
  /// The key to which the provider binds the tokens; nil if it binds them to none.
  var dpopKey: Sealed<Secret>? { get set }
  var state: UnattendedGrantState { get set }

  /// Returns the call that requests the tokens.
  func request(_ metadata: OIDCMetadata) -> OIDCCall
  /// Returns the account, without its tokens.
  func account() -> AccountGrant
}

enum UnattendedGrantState: Codable, Sendable, Equatable {
  /// Fetches the provider's metadata. Next: requesting, or the end.
  case discovering(RetryBackoff)
  /// Requests the tokens. Next: the end.
  case requesting(OIDCMetadata, RetryBackoff)
}

extension UnattendedGrant {
  var stateView: FlowView {
    switch state {
    case .discovering: waiting("discovering", for: "the provider's metadata")
    case .requesting: waiting("requesting", for: "the provider's tokens")
    }
  }

  mutating func process(
    _ event: FlowEvent<OIDCCall>, _ transition: inout TransitionContext
  ) -> Answer<OIDCCall> {
    switch state {
    case .discovering(let retrying): discovering(event, retrying, &transition)
    case .requesting(let metadata, let retrying):
      requesting(event, metadata, retrying, transition.now)
    }
  }

  mutating func discover(_ retrying: RetryBackoff) { state = .discovering(retrying) }

  mutating func discovered(
    _ metadata: OIDCMetadata, _ transition: inout TransitionContext
  ) -> Answer<OIDCCall> {
    dpopKey = provider.settings.dpopKey(&transition)
    return send(metadata, RetryBackoff())
  }

  private func call(_ metadata: OIDCMetadata) -> OIDCCall {
    request(metadata).bound(to: dpopKey)
  }

  private mutating func send(
    _ metadata: OIDCMetadata, _ retrying: RetryBackoff
  ) -> Answer<OIDCCall> {
    state = .requesting(metadata, retrying.resumed)
    return .proceed([.call(call(metadata))])
  }

  private mutating func requesting(
    _ event: FlowEvent<OIDCCall>, _ metadata: OIDCMetadata, _ retrying: RetryBackoff,
    _ now: Timestamp
  ) -> Answer<OIDCCall> {
    switch event {
    case .provider(.called(call(metadata), let outcome)) where !retrying.isPaused:
      let asked = TokenRequest(provider, scope: scope)
      switch TokenReply(outcome, read: { TokenReply($0, to: asked, at: now) }) {
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
    case .woken where retrying.isPaused, .daemon(.resumed): return send(metadata, retrying)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private func grant(of tokens: TokenSet) -> AccountGrant {
    var grant = account()
    grant.isOfClient = true
    grant.dpopKey = dpopKey
    grant.tokens = copy(tokens) {
      $0.idToken = nil
      $0.refreshToken = nil
      $0.refreshExpiresAt = nil
    }
    return grant
  }
}
