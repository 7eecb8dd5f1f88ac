package import UsherAPI
package import UsherConfig
package import UsherCore

/// Log-in to a wallet with a browser: authorization code with PKCE (contract §2.3, §2.6; RFC 8252,
/// RFC 9700).
package struct PaysafeAuthorize: FlowMachine {
  package static let kind = "authorize"
  package static let summary = "Sign a wallet customer in with a browser."

  package struct Params: Codable, Sendable, Equatable {
    /// The brand whose customer signs in. Default: the configured brand.
    package var brandIdentity: String?
    /// The URL at which the app receives the redirect itself: https, or http on the loopback. If
    /// absent, the daemon listens for the redirect.
    package var redirectURI: String?
    /// The app's page for customers who forgot their PIN or password.
    package var resetCredentialsURL: String?
    /// A BCP 47 language tag such as `en-GB`.
    package var locale: String?
    package var loginHint: String?
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

    package init() {}
  }

  package enum LoginStrategy: String, Codable, Sendable, Equatable, CaseIterable {
    case pin, password
  }

  package let provider: Provider<PaysafeSettings>
  private let login: PaysafeLogin
  private var state: State
  private var problem: Problem?
  /// The number of rounds lost because the provider was unreachable.
  private var lostRounds = 0

  private enum State: Codable, Sendable, Equatable {
    /// Fetches the config token. → preparing, authorizing, or the end
    case configuring(RetryBackoff)
    /// Waits for the redirect listener. → authorizing, or the end
    case preparing(PaysafeAttempt)
    /// The customer is in the browser. → redeeming, handedOver, preparing or itself with a new
    /// attempt, or the end
    case authorizing(PaysafeAttempt, redirectURI: String, ListenerState)
    /// Redeems the code. → preparing or authorizing with a new attempt, or the end
    case redeeming(Redemption)
    /// The app's backend redeems the code. → the end
    case handedOver(PaysafeHandover)
  }

  /// A code that is being redeemed. The code is held only between two attempts, and only in memory.
  private struct Redemption: Codable, Sendable, Equatable {
    let attempt: PaysafeAttempt
    let verifier: Sealed<Secret>
    let redirectURI: String
    var code = Transient(nil)
    var retrying = RetryBackoff()
  }

  /// The flow fails when this many rounds are lost because the provider was unreachable after it
  /// may have received the code.
  package static let maxLostRounds = 3

  package static func begin(
    _ params: Params, _ context: FlowContext<PaysafeSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (PaysafeAuthorize, Answer<PaysafeCall>) {
    let settings = context.provider.settings
    var flow = PaysafeAuthorize(
      provider: context.provider, login: try PaysafeLogin(params, context),
      state: .configuring(RetryBackoff()))
    if let client = params.clientIdentifier, client.secret != Secret(settings.clientID) {
      return (flow, .fail(.otherClient(context.provider.name)))
    }
    if settings.clientCredential != nil, settings.digitalFingerprint {
      return (flow, .proceed([.call(.configToken(brand: flow.login.brand))]))
    }
    let answer = flow.begin(PaysafeAttempt(flow.login, fingerprint: nil, &transition))
    return (flow, answer)
  }

  package var view: FlowView {
    switch state {
    case .configuring: waiting("configuring", for: "the provider's config token")
    case .preparing: waiting("preparing", for: "the local callback listener")
    case .authorizing(let attempt, let redirectURI, let listener):
      FlowView(
        state: "authorizing",
        step: .openURL(
          .init(
            url: attempt.url(login, redirectURI: redirectURI, provider.settings),
            redirectURI: redirectURI, completes: listener.completes)),
        problem: problem)
    case .redeeming: waiting("exchanging", for: "the provider's tokens")
    case .handedOver(let handover):
      FlowView(
        state: "exchanging", step: .exchangeCredential(handover.step(login.requestID)),
        problem: problem)
    }
  }

  private func waiting(_ state: String, for what: String) -> FlowView {
    FlowView(state: state, step: .wait(.init(for: what)), problem: problem)
  }

  package mutating func receive(
    _ event: FlowEvent<PaysafeCall>, at transition: inout TransitionContext
  ) -> Answer<PaysafeCall> {
    switch state {
    case .configuring(let retrying): configuring(event, retrying, &transition)
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
    _ event: FlowEvent<PaysafeCall>, _ retrying: RetryBackoff, _ transition: inout TransitionContext
  ) -> Answer<PaysafeCall> {
    switch event {
    case .provider(.called(.configToken, .reply(let reply))):
      switch PaysafeFingerprint(reply, from: provider.name) {
      case .granted(let fingerprint):
        return begin(PaysafeAttempt(login, fingerprint: fingerprint, &transition))
      case .dead(let errorCode), .misconfigured(let errorCode), .rejected(let errorCode):
        return .fail(.rejected(errorCode))
      case .retry(let message, let after): return configureLater(message, retrying, after)
      case .unreadable(let message): return .fail(.protocolError(message))
      }
    case .provider(.called(.configToken, .unreachable(let message, sent: _))):
      return configureLater(message, retrying, nil)
    case .provider(.called(.configToken, .unreadable(let message))),
      .provider(.called(.configToken, .noToken(let message))):
      return .fail(.protocolError(message))
    case .woken where !retrying.isPaused: return .ignore
    case .woken, .daemon(.resumed):
      var retrying = retrying
      retrying.endPause()
      state = .configuring(retrying)
      return .proceed([.call(.configToken(brand: login.brand))])
    case .input, .browser, .provider, .daemon:
      return .ignore
    }
  }

  /// Schedules another request. A repeated request is harmless, because an unused config token
  /// expires by itself.
  private mutating func configureLater(
    _ message: String, _ retrying: RetryBackoff, _ after: Duration?
  ) -> Answer<PaysafeCall> {
    var retrying = retrying
    guard let pause = retrying.failed() else { return .fail(.unreachable(message)) }
    state = .configuring(retrying)
    problem = .unreachable(message)
    return .proceed([.wake(after: RetryBackoff.pause(pause, asked: after))])
  }

  private mutating func begin(
    _ attempt: PaysafeAttempt, problem: Problem? = nil
  ) -> Answer<PaysafeCall> {
    self.problem = problem
    if let redirectURI = login.redirectURI {
      state = .authorizing(attempt, redirectURI: redirectURI, .none)
      return .proceed([])
    }
    state = .preparing(attempt)
    let redirect = provider.settings.redirect
    return .proceed([.listen(redirect.expectation(state: attempt.state.unsealed()))])
  }

  private mutating func preparing(
    _ event: FlowEvent<PaysafeCall>, _ attempt: PaysafeAttempt
  ) -> Answer<PaysafeCall> {
    let redirect = provider.settings.redirect
    switch redirect.opening(event, state: attempt.state.unsealed(), hasPKCE: true) {
    case .open(let redirectURI, let listener, let problem):
      self.problem = problem ?? self.problem
      state = .authorizing(attempt, redirectURI: redirectURI, listener)
      return .proceed([])
    case .listenAgain(let expectation): return .proceed([.listen(expectation)])
    case .failed(let failure): return .fail(failure)
    case .nothing: return .ignore
    }
  }
}

// MARK: - The browser and the code

extension PaysafeAuthorize {
  private mutating func authorizing(
    _ event: FlowEvent<PaysafeCall>, _ attempt: PaysafeAttempt, _ redirectURI: String,
    _ listener: ListenerState, _ transition: inout TransitionContext
  ) -> Answer<PaysafeCall> {
    let browserReturn = BrowserReturn(
      redirectURI: redirectURI, listener: listener, state: attempt.state.unsealed(),
      redirect: login.redirectURI == nil ? provider.settings.redirect : nil, hasPKCE: true)
    switch browserReturn.outcome(of: event) {
    case .redirected(let answer):
      return handleRedirect(answer, attempt, redirectURI, transition.now)
    case .listenAgain(let expectation):
      state = .authorizing(attempt, redirectURI: redirectURI, .restoring)
      return .proceed([.listen(expectation)])
    case .listener(let listener, let problem):
      self.problem = problem ?? self.problem
      state = .authorizing(attempt, redirectURI: redirectURI, listener)
      return .proceed([])
    case .failed(let failure): return .fail(failure)
    case .listenerLost: return renew(attempt, .interrupted, &transition)
    case .refused(let field, let message): return .refuse(field: field, message: message)
    case .nothing: return .ignore
    }
  }

  private mutating func handleRedirect(
    _ answer: AuthorizationResponse, _ attempt: PaysafeAttempt, _ redirectURI: String,
    _ now: Timestamp
  ) -> Answer<PaysafeCall> {
    if let failure = answer.failure(provider.name) { return .fail(failure) }
    guard let code = answer.code, !code.isEmpty else { return .fail(.neitherCodeNorError) }
    problem = nil
    switch (attempt.proof, provider.settings.exchange) {
    case (.ours(let verifier), .daemon):
      let redemption = Redemption(
        attempt: attempt, verifier: verifier, redirectURI: redirectURI)
      return redeem(code, redemption, after: [.stopListening])
    case (.ours, .app), (.callers, .daemon), (.callers, .app):
      let handover = PaysafeHandover(
        code: Sealed(code), verifier: attempt.verifier, redirectURI: redirectURI,
        deadline: now + .seconds(provider.settings.exchangeSeconds))
      state = .handedOver(handover)
      return .proceed([.stopListening, .wake(after: handover.deadline - now)])
    }
  }

  /// Starts a new round, because the code may be spent or the open page leads nowhere. State and
  /// verifier are new unless the caller created them.
  private mutating func renew(
    _ attempt: PaysafeAttempt, _ problem: Problem, _ transition: inout TransitionContext
  ) -> Answer<PaysafeCall> {
    let attempt = PaysafeAttempt(login, fingerprint: attempt.fingerprint, &transition)
    return begin(attempt, problem: problem)
  }

  private mutating func redeem(
    _ code: Secret, _ redemption: Redemption, after effects: [Effect<PaysafeCall>] = []
  ) -> Answer<PaysafeCall> {
    state = .redeeming(redemption)
    let exchange = PaysafeCall.Exchange(
      brand: login.brand, code: code, verifier: redemption.verifier.unsealed(),
      redirectURI: redemption.redirectURI)
    return .proceed(effects + [.call(.exchange(exchange))])
  }

  private mutating func redeeming(
    _ event: FlowEvent<PaysafeCall>, _ redemption: Redemption, _ transition: inout TransitionContext
  ) -> Answer<PaysafeCall> {
    var redemption = redemption
    switch event {
    case .provider(.called(.exchange(let exchange), .unreachable(let message, sent: false)))
    where exchange.verifier == redemption.verifier.unsealed():
      return redeemLater(exchange.code, message, nil, redemption)
    case .provider(.called(.exchange(let exchange), .reply(let reply)))
    where exchange.verifier == redemption.verifier.unsealed() && reply.isPostponed:
      let message = "the provider answers HTTP \(reply.status)"
      return redeemLater(exchange.code, message, reply.retryAfter, redemption)
    case .provider(.called(.exchange(let exchange), let outcome))
    where exchange.verifier == redemption.verifier.unsealed():
      return redeemed(outcome, redemption.attempt, &transition)
    case .woken where !redemption.retrying.isPaused: return .ignore
    case .woken:
      guard let code = redemption.code.secret else {
        return renew(redemption.attempt, .interrupted, &transition)
      }
      redemption.code = Transient(nil)
      redemption.retrying.endPause()
      return redeem(code, redemption)
    case .daemon(.resumed): return renew(redemption.attempt, .interrupted, &transition)
    case .input, .browser, .provider, .daemon:
      return .ignore
    }
  }

  /// Schedules another attempt with the same code. The provider has certainly not redeemed it.
  ///
  /// - Parameter asked: The delay that the provider asks for.
  private mutating func redeemLater(
    _ code: Secret, _ message: String, _ asked: Duration?, _ redemption: Redemption
  ) -> Answer<PaysafeCall> {
    var redemption = redemption
    guard let pause = redemption.retrying.failed() else { return .fail(.unreachable(message)) }
    let wait = RetryBackoff.pause(pause, asked: asked)
    redemption.code = Transient(code)
    state = .redeeming(redemption)
    problem = .unreachable(message)
    if asked != nil { problem?.retryAfterMs = Int(wait.milliseconds) }
    return .proceed([.wake(after: wait)])
  }

  private mutating func redeemed(
    _ outcome: CallOutcome, _ attempt: PaysafeAttempt, _ transition: inout TransitionContext
  ) -> Answer<PaysafeCall> {
    let reply: HTTPReply
    switch outcome {
    case .reply(let answer): reply = answer
    case .unreachable(let message, sent: _): return lost(message, attempt, &transition)
    case .unreadable(let message), .noToken(let message): return .fail(.protocolError(message))
    }
    let request = TokenRequest(provider: provider.name, scope: "")
    switch TokenReply(reply, to: request, at: transition.now) {
    case .granted(let tokens): return login.finish(tokens)
    case .dead(let errorCode), .misconfigured(let errorCode), .rejected(let errorCode):
      return .fail(.rejected(errorCode))
    case .retry(let message, _): return lost(message, attempt, &transition)
    case .unreadable(let message): return .fail(.protocolError(message))
    }
  }

  private mutating func lost(
    _ message: String, _ attempt: PaysafeAttempt, _ transition: inout TransitionContext
  ) -> Answer<PaysafeCall> {
    lostRounds += 1
    guard lostRounds < Self.maxLostRounds else { return .fail(.unreachable(message)) }
    return renew(attempt, .unreachable(message), &transition)
  }
}

extension Failure {
  /// Carries the SDK's error code for a call that it refuses.
  fileprivate static func otherClient(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .invalidRequest, title: "Wrong client",
      message: "the client identifier is not the one configured for this provider",
      retryable: false,
      provider: ProviderErrorCode(name: provider, code: "dataError"))
  }
}
