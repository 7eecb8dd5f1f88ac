package import UsherAPI
package import UsherConfig
package import UsherCore

/// Signs a customer in to a wallet with a browser: authorization code with PKCE (provider contract
/// §2.3, §2.6; RFC 8252, RFC 9700).
package struct PaysafeAuthorize: FlowMachine, RedeemingCodeGrant {
  package typealias Event = FlowEvent<PaysafeCall>
  package typealias Answer = UsherFlows.Answer<PaysafeCall>
  package static let kind = "authorize"
  package static let summary = "Sign a wallet customer in with a browser."

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The brand whose customer signs in. Default: the configured brand.
    package var brandIdentity: String?
    /// The URL at which the app receives the redirect itself: https, or http on the loopback; with
    /// `codeChallenge` any http. If absent, the daemon listens for the redirect.
    package var redirectURI: String?
    /// The app's page for customers who forgot their PIN or password.
    package var resetCredentialsURL: String?
    /// A BCP 47 language tag such as `en-GB`.
    package var locale: String?
    /// The name with which the customer probably signs in.
    package var loginHint: String?
    /// Whether the customer signs in with a PIN or a password.
    package var loginStrategy: LoginStrategy?
    /// An existing account to sign in again. The sign-in of any other customer is refused.
    package var account: AccountID?
    /// Whether the daemon refreshes the tokens in the background.
    package var keepAlive: Bool?
    /// A state that the caller created. It requires `codeChallenge`.
    package var state: WireSecret?
    /// The caller's S256 code challenge. It requires `state`, and the caller then redeems the code.
    package var codeChallenge: String?
    /// The client identifier of the SDK's call. It must equal the configured client id.
    package var clientIdentifier: WireSecret?
  }

  package enum LoginStrategy: String, Codable, Sendable, Equatable, CaseIterable {
    case pin, password
  }

  package let provider: Provider<PaysafeSettings>
  private let login: PaysafeLogin
  private var state: State
  var problem: Problem?
  var lostRounds = 0

  private enum State: Codable, Sendable, Equatable {
    /// Fetches the config token, with the fingerprint for the authorization URL. Next: preparing,
    /// authorizing, or the end. The notice says why the round before has failed.
    case configuring(RetryBackoff, notice: Problem?)
    /// Waits until the loopback listener is open. Next: authorizing, or the end.
    case preparing(PaysafeAttempt)
    /// The customer is in the browser. Next: redeeming, handedOver, preparing or itself with a new
    /// attempt, or the end.
    case authorizing(PaysafeAttempt, redirectURI: String, ListenerState)
    /// Redeems the code. Next: preparing or authorizing with a new attempt, or the end.
    case redeeming(Redemption)
    /// Waits for the app's backend, which redeems the code. Next: the end.
    case handedOver(PaysafeHandover)
  }

  /// An authorization code that the daemon redeems. The code is held only during a pause before the
  /// next attempt, and only in memory.
  struct Redemption: CodeRedemption, Codable, Sendable, Equatable {
    let attempt: PaysafeAttempt
    let verifier: Sealed<Secret>
    let redirectURI: String
    var code = Transient(nil)
    var retrying = RetryBackoff()
  }

  package static let maxLostRounds = 3

  package static func begin(
    _ params: Params, _ context: FlowContext<PaysafeSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (PaysafeAuthorize, Answer) {
    let settings = context.provider.settings
    var flow = PaysafeAuthorize(
      provider: context.provider, login: try PaysafeLogin(params, context),
      state: .configuring(RetryBackoff(), notice: nil))
    if let client = params.clientIdentifier, client.secret != Secret(settings.clientID) {
      return (flow, .fail(.otherClient(context.provider.name)))
    }
    if settings.clientCredential != nil, settings.digitalFingerprint {
      return (flow, .proceed([.call(.configToken(brand: flow.login.brand))]))
    }
    let answer = flow.start(PaysafeAttempt(flow.login, fingerprint: nil, &transition), nil)
    return (flow, answer)
  }

  package var view: FlowView {
    switch state {
    case .configuring: waiting("configuring", for: "the provider's config token")
    case .preparing: waiting("preparing", for: "the local callback listener")
    case .authorizing(let attempt, let redirectURI, let listener):
      browser(
        "authorizing", at: attempt.url(login, redirectURI: redirectURI, provider.settings),
        redirectURI: redirectURI, listener)
    case .redeeming: waiting("exchanging", for: "the provider's tokens")
    case .handedOver(let handover):
      FlowView(
        state: "exchanging", step: .exchangeCredential(handover.step(login.requestID)),
        problem: problem)
    }
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case .configuring(let retrying, let notice):
      configuring(event, retrying, notice, &transition)
    case .preparing(let attempt): preparing(event, attempt)
    case .authorizing(let attempt, let redirectURI, let listener):
      authorizing(event, attempt, redirectURI, listener, &transition)
    case .redeeming(let redemption): redeeming(event, redemption, &transition)
    case .handedOver(let handover): handover.receive(event, login, at: transition.now)
    }
  }
}

// MARK: - Before the browser

extension PaysafeAuthorize {
  private mutating func configuring(
    _ event: Event, _ retrying: RetryBackoff, _ notice: Problem?,
    _ transition: inout TransitionContext
  ) -> Answer {
    switch event {
    case .provider(.called(.configToken, let outcome)):
      switch PaysafeFingerprint(outcome, read: { .init($0, from: provider.name) }) {
      case .granted(let fingerprint):
        return start(PaysafeAttempt(login, fingerprint: fingerprint, &transition), notice)
      case .dead(let errorCode), .misconfigured(let errorCode), .rejected(let errorCode):
        return .fail(.rejected(errorCode))
      // The call is repeated although an earlier one may have succeeded: an unused config token
      // expires by itself.
      case .retry(let message, let after):
        return retry(retrying, .unreachable(message), after: after) {
          $0.state = .configuring($1, notice: notice)
        }
      case .unreadable(let message): return .fail(.protocolError(message))
      }
    case .woken where retrying.isPaused, .daemon(.resumed):
      state = .configuring(retrying.resumed, notice: notice)
      return .proceed([.call(.configToken(brand: login.brand))])
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }
}

// MARK: - The browser and the code

extension PaysafeAuthorize {
  var redirect: Redirect { provider.settings.redirect }
  var appRedirectURI: String? { login.redirectURI }
  var hasPKCE: Bool { true }

  func secret(of attempt: PaysafeAttempt) -> Secret { attempt.state.unsealed() }

  mutating func prepare(_ attempt: PaysafeAttempt) { state = .preparing(attempt) }

  mutating func show(_ attempt: PaysafeAttempt, redirectURI: String, _ listener: ListenerState) {
    state = .authorizing(attempt, redirectURI: redirectURI, listener)
  }

  mutating func redirected(
    _ answer: AuthorizationResponse, _ attempt: PaysafeAttempt, redirectURI: String,
    _ transition: inout TransitionContext
  ) -> Answer {
    if let failure = answer.failure(provider.name) { return .fail(failure) }
    guard let code = answer.code, !code.isEmpty else { return .fail(.neitherCodeNorError) }
    problem = nil
    switch (attempt.proof, provider.settings.exchange) {
    case (.ours(let verifier), .daemon):
      let redemption = Redemption(attempt: attempt, verifier: verifier, redirectURI: redirectURI)
      return redeem(code, redemption, after: [.stopListening])
    case (.ours, .app), (.callers, .daemon), (.callers, .app):
      let handover = PaysafeHandover(
        code: Sealed(code), verifier: attempt.verifier, redirectURI: redirectURI,
        deadline: transition.now + .seconds(provider.settings.exchangeSeconds))
      state = .handedOver(handover)
      return .proceed([.stopListening, .wake(after: handover.deadline - transition.now)])
    }
  }

  /// Starts a new round. It has a new state and verifier, unless the caller created them, and a new
  /// fingerprint, because the earlier one is valid for as long as its config token (900 s).
  mutating func renew(
    _ attempt: PaysafeAttempt, _ problem: Problem, _ transition: inout TransitionContext
  ) -> Answer {
    guard attempt.fingerprint == nil else {
      self.problem = problem
      state = .configuring(RetryBackoff(), notice: problem)
      return .proceed([.call(.configToken(brand: login.brand))])
    }
    return start(PaysafeAttempt(login, fingerprint: nil, &transition), problem)
  }

  mutating func keep(_ redemption: Redemption) { state = .redeeming(redemption) }

  func exchange(_ code: Secret, _ redemption: Redemption) -> PaysafeCall {
    .exchange(
      .init(
        brand: login.brand, code: code, verifier: redemption.verifier.unsealed(),
        redirectURI: redemption.redirectURI))
  }

  func code(in call: PaysafeCall, of redemption: Redemption) -> Secret? {
    guard case .exchange(let exchange) = call, exchange.verifier == redemption.verifier.unsealed()
    else { return nil }
    return exchange.code
  }

  func read(_ reply: HTTPReply, at now: Timestamp) -> TokenReply {
    TokenReply(reply, to: TokenRequest(provider: provider.name, scope: ""), at: now)
  }

  mutating func granted(
    _ tokens: TokenSet, by code: Secret, _ attempt: PaysafeAttempt
  ) -> Answer {
    login.finish(tokens)
  }
}

extension Failure {
  /// The failure of a flow whose params name another client id than the configured one.
  fileprivate static func otherClient(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Wrong client",
      message: "the client identifier is not the one configured for this provider",
      retryable: false,
      provider: ProviderErrorCode(name: provider, code: "dataError"))
  }
}
