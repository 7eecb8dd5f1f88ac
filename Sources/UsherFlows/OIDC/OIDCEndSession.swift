import UsherAPI
package import UsherConfig
package import UsherCore

/// Ends a user's session at the provider in the browser (OpenID Connect RP-Initiated Logout 1.0).
///
/// The account and its tokens stay as they are.
package struct OIDCEndSession: CodeGrant, DiscoveringMachine {
  package typealias Event = FlowEvent<OIDCCall>
  package typealias Answer = UsherFlows.Answer<OIDCCall>
  package static let kind = "endSession"
  package static let summary = "End a person's session at the provider, in the browser."
  package static let needsAccount = true
  static let maxLostRounds = 1

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The account of the person. Default: the only one at the provider.
    package var account: AccountID?
  }

  package let provider: Provider<OIDCSettings>
  /// The ID token that tells the provider whose session ends; nil if the provider asks the user.
  private let idToken: Sealed<Secret>?
  private var state: State
  var problem: Problem?
  var lostRounds = 0

  /// One visit of the provider's page.
  struct Round: Codable, Sendable, Equatable {
    let endpoint: String
    /// The `state` that binds the redirect to this round; 192 bits.
    let state: Sealed<Secret>
  }

  private enum State: Codable, Sendable, Equatable {
    /// Fetches the provider's metadata. Next: preparing, or the end.
    case discovering(RetryBackoff)
    /// Opens the loopback listener. Next: ending, or the end.
    case preparing(Round)
    /// The user ends the session on the provider's page. Next: the end.
    case ending(Round, redirectURI: String, ListenerState)
  }

  package static func begin(
    _ params: Params, _ context: FlowContext<OIDCSettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (OIDCEndSession, Answer) {
    let flow = OIDCEndSession(
      provider: context.provider, idToken: context.idToken, state: .discovering(RetryBackoff()))
    return (flow, .proceed([.discover]))
  }

  package var view: FlowView {
    switch state {
    case .discovering: waiting("discovering", for: "the provider's metadata")
    case .preparing: waiting("preparing", for: "the local callback listener")
    case .ending(let round, let redirectURI, let listener):
      browser(
        "endingSession", at: url(round, redirectURI: redirectURI), redirectURI: redirectURI,
        listener)
    }
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case .discovering(let retrying): discovering(event, retrying, &transition)
    case .preparing(let round): preparing(event, round)
    case .ending(let round, let redirectURI, let listener):
      authorizing(event, round, redirectURI, listener, &transition)
    }
  }

  /// Returns the address of the page (RP-Initiated Logout §2).
  private func url(_ round: Round, redirectURI: String) -> String {
    let fields: [(name: String, value: String)] =
      (idToken.map { [("id_token_hint", $0.unsealed().revealed())] } ?? [])
      + [
        ("client_id", provider.settings.clientID), ("post_logout_redirect_uri", redirectURI),
        ("state", round.state.unsealed().revealed()),
      ]
    return round.endpoint + (round.endpoint.contains("?") ? "&" : "?") + FormEncoding.encode(fields)
  }
}

extension OIDCEndSession {
  mutating func discover(_ retrying: RetryBackoff) { state = .discovering(retrying) }

  mutating func discovered(
    _ metadata: OIDCMetadata, _ transition: inout TransitionContext
  ) -> Answer {
    guard let endpoint = metadata.endSessionEndpoint else {
      return .fail(
        .protocolError("the provider names no end_session_endpoint; set end_session in endpoints"))
    }
    return start(Self.round(at: endpoint, &transition), nil)
  }

  private static func round(
    at endpoint: String, _ transition: inout TransitionContext
  ) -> Round {
    Round(
      endpoint: endpoint, state: Sealed(Secret(Base64URL.encode(transition.random(24)))))
  }

  var redirect: Redirect { provider.settings.redirect }
  /// True although PKCE is not used: the redirect carries no code that could be stolen.
  var hasPKCE: Bool { true }

  func secret(of round: Round) -> Secret { round.state.unsealed() }

  mutating func prepare(_ round: Round) { state = .preparing(round) }

  mutating func show(_ round: Round, redirectURI: String, _ listener: ListenerState) {
    state = .ending(round, redirectURI: redirectURI, listener)
  }

  mutating func redirected(
    _ answer: AuthorizationResponse, _ round: Round, redirectURI: String,
    _ transition: inout TransitionContext
  ) -> Answer {
    if let failure = answer.failure(provider.name) { return .fail(failure) }
    return .finish(Completion(grant: nil))
  }

  mutating func renew(
    _ round: Round, _ problem: Problem, _ transition: inout TransitionContext
  ) -> Answer {
    start(Self.round(at: round.endpoint, &transition), problem, after: [.stopListening])
  }
}
