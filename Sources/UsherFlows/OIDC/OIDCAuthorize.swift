import UsherAPI
package import UsherConfig
package import UsherCore

/// Sign-in with a browser: authorization code with PKCE and a loopback redirect (RFC 8252,
/// RFC 9700, OIDC Core §3.1).
package struct OIDCAuthorize: FlowMachine {
  package static let kind = "authorize"
  package static let summary = "Sign a person in with a browser on this machine."

  package struct Params: Codable, Sendable, Equatable {
    /// The scopes, separated by spaces. Default: the configured scopes. `openid` is always
    /// requested.
    package var scope: String?
    /// An existing account to sign in again. The sign-in of any other user is refused.
    package var account: AccountID?
    package var loginHint: String?
    /// `login`, `consent`, `select_account`, … (OIDC Core §3.1.2.1).
    package var prompt: String?
    package var uiLocales: String?
    package var acrValues: String?
    /// The maximum time since the user's last authentication at the provider, in seconds.
    package var maxAgeSeconds: Int?
    /// Whether the daemon refreshes the tokens in the background.
    package var keepAlive: Bool?

    package init() {}
  }

  package let provider: Provider<OIDCSettings>
  private let request: Request
  private var state: State
  private var problem: Problem?
  /// The number of rounds lost because the provider was unreachable.
  private var lostRounds = 0

  private struct Request: Codable, Sendable, Equatable {
    let scope: String
    let hints: [String: String]
    let maxAge: Int?
    let account: KnownAccount?
    let keepAlive: Bool
  }

  private enum State: Codable, Sendable, Equatable {
    /// Fetches the provider's metadata. → preparing, or the end
    case discovering(RetryBackoff)
    /// Waits for the redirect listener. → authorizing, or the end
    case preparing(OIDCAttempt)
    /// The user is in the browser. → exchanging, preparing with a new attempt, or the end
    case authorizing(OIDCAttempt, redirectURI: String, ListenerState)
    /// The code is being redeemed. The code is held only between two attempts, and only in memory.
    /// → signingIn, preparing with a new attempt, or the end
    case exchanging(OIDCAttempt, redirectURI: String, Transient, RetryBackoff)
    /// Turns the tokens into an account. → the end
    case signingIn(OIDCSignIn)
  }

  /// The flow fails when this many rounds are lost because the provider was unreachable after it
  /// may have received the code.
  package static let maxLostRounds = 3

  package static func begin(
    _ params: Params, _ context: FlowContext<OIDCSettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (OIDCAuthorize, Answer<OIDCCall>) {
    let provider = context.provider
    if let age = params.maxAgeSeconds, !(0...31_536_000).contains(age) {
      throw ParamsValidation.wrong("maxAgeSeconds", "must be from 0 to a year")
    }
    var hints: [String: String] = [:]
    hints["login_hint"] = try ParamsValidation.text(params.loginHint, "loginHint")
    hints["prompt"] = try ParamsValidation.text(params.prompt, "prompt")
    hints["ui_locales"] = try ParamsValidation.text(params.uiLocales, "uiLocales")
    hints["acr_values"] = try ParamsValidation.text(params.acrValues, "acrValues")
    hints["max_age"] = params.maxAgeSeconds.map { String($0) }
    let request = Request(
      scope: try OIDCRequest.scope(params.scope, provider.settings), hints: hints,
      maxAge: params.maxAgeSeconds, account: context.account, keepAlive: params.keepAlive ?? false)
    let flow = OIDCAuthorize(
      provider: provider, request: request, state: .discovering(RetryBackoff()))
    return (flow, .proceed([.discover]))
  }

  package var view: FlowView {
    switch state {
    case .discovering: waiting("discovering", for: "the provider's metadata")
    case .preparing: waiting("preparing", for: "the local callback listener")
    case .authorizing(let attempt, let redirectURI, let listener):
      FlowView(
        state: "authorizing",
        step: .openURL(
          .init(
            url: attempt.url(
              redirectURI: redirectURI, scope: request.scope, hints: request.hints,
              settings: provider.settings),
            redirectURI: redirectURI, completes: listener.completes)),
        problem: problem)
    case .exchanging: waiting("exchanging", for: "the provider's tokens")
    case .signingIn(let signIn): signIn.view
    }
  }

  private func waiting(_ state: String, for what: String) -> FlowView {
    FlowView(state: state, step: .wait(.init(for: what)), problem: problem)
  }

  package mutating func receive(
    _ event: FlowEvent<OIDCCall>, at transition: inout TransitionContext
  ) -> Answer<OIDCCall> {
    switch state {
    case .discovering(let retrying): return discovering(event, retrying, &transition)
    case .preparing(let attempt): return preparing(event, attempt)
    case .authorizing(let attempt, let redirectURI, let listener):
      return authorizing(event, attempt, redirectURI, listener, &transition)
    case .exchanging(let attempt, let redirectURI, let code, let retrying):
      return exchanging(event, attempt, redirectURI, code, retrying, &transition)
    case .signingIn(var signIn):
      let answer = signIn.receive(event, provider, at: transition.now)
      state = .signingIn(signIn)
      return answer
    }
  }

  package var callsIfAbandoned: [OIDCCall] {
    switch state {
    case .discovering, .preparing, .authorizing, .exchanging: []
    case .signingIn(let signIn): signIn.callsIfAbandoned
    }
  }

  package static func cleanUp(_ call: OIDCCall, _ outcome: CallOutcome) -> [OIDCCall] {
    OIDCCall.cleaningUp(call, outcome)
  }
}

// MARK: - Before the browser

extension OIDCAuthorize {
  private mutating func discovering(
    _ event: FlowEvent<OIDCCall>, _ retrying: RetryBackoff, _ transition: inout TransitionContext
  ) -> Answer<OIDCCall> {
    var retrying = retrying
    switch event {
    case .provider(.discovered(.found(let metadata))):
      guard let endpoint = metadata.authorizationEndpoint else {
        return .fail(.protocolError("the provider names no authorization endpoint"))
      }
      return listen(
        OIDCAttempt(metadata, authorizationEndpoint: endpoint, &transition), problem: nil)
    case .provider(.discovered(.unusable(let message))): return .fail(.protocolError(message))
    case .provider(.discovered(.unreachable(let message))):
      guard let pause = retrying.failed() else { return .fail(.unreachable(message)) }
      state = .discovering(retrying)
      problem = .unreachable(message)
      return .proceed([.wake(after: pause)])
    case .woken where !retrying.isPaused: return .ignore
    case .woken, .daemon(.resumed):
      retrying.endPause()
      state = .discovering(retrying)
      return .proceed([.discover])
    case .input, .browser, .provider, .daemon:
      return .ignore
    }
  }

  private mutating func listen(
    _ attempt: OIDCAttempt, problem: Problem?
  ) -> Answer<OIDCCall> {
    state = .preparing(attempt)
    self.problem = problem
    let redirect = provider.settings.redirect
    return .proceed([.listen(redirect.expectation(state: attempt.state.unsealed()))])
  }

  private mutating func preparing(
    _ event: FlowEvent<OIDCCall>, _ attempt: OIDCAttempt
  ) -> Answer<OIDCCall> {
    let opening = provider.settings.redirect.opening(
      event, state: attempt.state.unsealed(), hasPKCE: provider.settings.pkce)
    switch opening {
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

extension OIDCAuthorize {
  private mutating func authorizing(
    _ event: FlowEvent<OIDCCall>, _ attempt: OIDCAttempt, _ redirectURI: String,
    _ listener: ListenerState, _ transition: inout TransitionContext
  ) -> Answer<OIDCCall> {
    let browserReturn = BrowserReturn(
      redirectURI: redirectURI, listener: listener, state: attempt.state.unsealed(),
      redirect: provider.settings.redirect, hasPKCE: provider.settings.pkce)
    switch browserReturn.outcome(of: event) {
    case .redirected(let answer): return handleRedirect(answer, attempt, redirectURI)
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
    _ answer: AuthorizationResponse, _ attempt: OIDCAttempt, _ redirectURI: String
  ) -> Answer<OIDCCall> {
    if let flaw = answer.flaw(attempt.metadata) { return .fail(.protocolError(flaw)) }
    if let failure = answer.failure(provider.name) { return .fail(failure) }
    guard let code = answer.code, !code.isEmpty else { return .fail(.neitherCodeNorError) }
    state = .exchanging(attempt, redirectURI: redirectURI, Transient(nil), RetryBackoff())
    problem = nil
    return .proceed([.stopListening, .call(exchange(code, attempt, redirectURI))])
  }

  private func exchange(
    _ code: Secret, _ attempt: OIDCAttempt, _ redirectURI: String
  ) -> OIDCCall {
    .exchange(
      .init(code: code, verifier: attempt.verifier.unsealed(), redirectURI: redirectURI),
      attempt.metadata)
  }

  /// Starts a new round with new secrets, because the code may be spent.
  private mutating func renew(
    _ attempt: OIDCAttempt, _ problem: Problem, _ transition: inout TransitionContext
  ) -> Answer<OIDCCall> {
    let attempt = attempt.renewed(&transition)
    state = .preparing(attempt)
    self.problem = problem
    let redirect = provider.settings.redirect
    return .proceed([
      .stopListening, .listen(redirect.expectation(state: attempt.state.unsealed())),
    ])
  }

  private mutating func exchanging(
    _ event: FlowEvent<OIDCCall>, _ attempt: OIDCAttempt, _ redirectURI: String, _ code: Transient,
    _ retrying: RetryBackoff, _ transition: inout TransitionContext
  ) -> Answer<OIDCCall> {
    var retrying = retrying
    switch event {
    case .provider(.called(.exchange(let exchange, _), .unreachable(let message, sent: false)))
    where exchange.verifier == attempt.verifier.unsealed():
      return redeemLater(exchange.code, message, nil, attempt, redirectURI, retrying)
    case .provider(.called(.exchange(let exchange, _), .reply(let reply)))
    where exchange.verifier == attempt.verifier.unsealed() && reply.isPostponed:
      let message = "the provider answers HTTP \(reply.status)"
      return redeemLater(
        exchange.code, message, reply.retryAfter, attempt, redirectURI, retrying)
    case .provider(.called(.exchange(let exchange, _), let outcome))
    where exchange.verifier == attempt.verifier.unsealed():
      return exchanged(outcome, attempt, &transition)
    case .woken where !retrying.isPaused: return .ignore
    case .woken:
      guard let code = code.secret else { return renew(attempt, .interrupted, &transition) }
      retrying.endPause()
      state = .exchanging(attempt, redirectURI: redirectURI, Transient(nil), retrying)
      return .proceed([.call(exchange(code, attempt, redirectURI))])
    case .daemon(.resumed): return renew(attempt, .interrupted, &transition)
    case .input, .browser, .provider, .daemon:
      return .ignore
    }
  }

  /// Schedules another attempt with the same code. The provider has certainly not redeemed it.
  ///
  /// - Parameter asked: The delay that the provider asks for.
  private mutating func redeemLater(
    _ code: Secret, _ message: String, _ asked: Duration?, _ attempt: OIDCAttempt,
    _ redirectURI: String, _ retrying: RetryBackoff
  ) -> Answer<OIDCCall> {
    var retrying = retrying
    guard let pause = retrying.failed() else { return .fail(.unreachable(message)) }
    let wait = RetryBackoff.pause(pause, asked: asked)
    state = .exchanging(attempt, redirectURI: redirectURI, Transient(code), retrying)
    problem = .unreachable(message)
    if asked != nil { problem?.retryAfterMs = Int(wait.milliseconds) }
    return .proceed([.wake(after: wait)])
  }

  private mutating func exchanged(
    _ outcome: CallOutcome, _ attempt: OIDCAttempt, _ transition: inout TransitionContext
  ) -> Answer<OIDCCall> {
    let reply: HTTPReply
    switch outcome {
    case .reply(let answer): reply = answer
    case .unreachable(let message, _): return lost(message, attempt, &transition)
    case .unreadable(let message), .noToken(let message):
      return .fail(.protocolError(message))
    }
    let request = TokenRequest(provider: provider.name, scope: self.request.scope)
    switch TokenReply(reply, to: request, at: transition.now) {
    case .granted(let tokens):
      let (signIn, answer) = OIDCSignIn.begin(
        tokens, attempt.metadata,
        .init(
          nonce: attempt.nonce, maxAge: self.request.maxAge, account: self.request.account,
          keepAlive: self.request.keepAlive))
      state = .signingIn(signIn)
      problem = nil
      return answer
    case .dead(let errorCode), .misconfigured(let errorCode), .rejected(let errorCode):
      return .fail(.rejected(errorCode))
    case .retry(let message, _): return lost(message, attempt, &transition)
    case .unreadable(let message): return .fail(.protocolError(message))
    }
  }

  private mutating func lost(
    _ message: String, _ attempt: OIDCAttempt, _ transition: inout TransitionContext
  ) -> Answer<OIDCCall> {
    lostRounds += 1
    guard lostRounds < Self.maxLostRounds else { return .fail(.unreachable(message)) }
    return renew(attempt, .unreachable(message), &transition)
  }
}

extension AuthorizationResponse {
  /// Returns why the answer must not be trusted (RFC 9207 §2.4), or nil if it may be.
  fileprivate func flaw(_ metadata: OIDCMetadata) -> String? {
    if let iss {
      guard !iss.hasSameBytes(as: metadata.issuer) else { return nil }
      return "the redirect comes from another issuer: expected \(metadata.issuer), "
        + "found \(ProviderText.found(iss))"
    }
    return metadata.namesIssuerInRedirect
      ? "the redirect does not say which issuer it comes from: expected \(metadata.issuer)" : nil
  }
}
