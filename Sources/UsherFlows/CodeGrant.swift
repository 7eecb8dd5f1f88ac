import UsherAPI
import UsherConfig
import UsherCore

/// The part of a sign-in with a browser that all such flows share: the loopback listener, the
/// provider's page, and the authorization code that comes back (RFC 8252, RFC 7636).
///
/// Each attempt of the user in the browser is a round. If a round fails without ending the flow,
/// another one starts with new secrets. A conforming machine stores the round in its own states and
/// calls the functions of this protocol in them.
protocol CodeGrant: FlowMachine, RetryingMachine {
  /// The secrets that bind the messages of one round together, such as `state`, nonce and code
  /// verifier.
  associatedtype Round

  /// The number of rounds whose code the provider may have redeemed although its reply was lost.
  var lostRounds: Int { get set }
  /// The number of lost rounds at which the flow fails.
  static var maxLostRounds: Int { get }

  /// The address at which the daemon expects the redirect.
  var redirect: Redirect { get }
  var redirectForm: RedirectForm { get }
  /// The URL at which the app itself receives the redirect; nil if the daemon listens.
  var appRedirectURI: String? { get }
  /// Whether PKCE makes a stolen authorization code useless to another local user (RFC 7636). If it
  /// does not, and another user may hold the redirect port, the flow fails before it opens the
  /// provider's page.
  var hasPKCE: Bool { get }
  /// The error code of the provider's SDK for a listener that cannot be opened; nil if the SDK has
  /// none.
  var listenerErrorCode: ProviderErrorCode? { get }

  /// Returns the secret by which a redirect is recognized: the `state`, or the last segment of the
  /// path.
  func secret(of round: Round) -> Secret
  /// Enters the state in which the flow waits until the loopback listener is open.
  mutating func prepare(_ round: Round)
  /// Enters the state in which the user signs in on the provider's page in the browser.
  mutating func show(_ round: Round, redirectURI: String, _ listener: ListenerState)
  /// Continues when the redirect URI is known. By default the flow shows the provider's page
  /// (``show(_:redirectURI:_:)``).
  mutating func opened(
    _ round: Round, redirectURI: String, _ listener: ListenerState
  ) -> Answer<Call>
  /// Handles the redirect, with which the provider answers the sign-in.
  mutating func redirected(
    _ answer: AuthorizationResponse, _ round: Round, redirectURI: String,
    _ transition: inout TransitionContext
  ) -> Answer<Call>
  /// Starts another round with new secrets. `problem` tells the user why the last round failed.
  mutating func renew(
    _ round: Round, _ problem: Problem, _ transition: inout TransitionContext
  ) -> Answer<Call>
}

extension CodeGrant {
  var redirectForm: RedirectForm { .oauth }
  var appRedirectURI: String? { nil }
  var hasPKCE: Bool { false }
  var listenerErrorCode: ProviderErrorCode? { nil }

  mutating func opened(
    _ round: Round, redirectURI: String, _ listener: ListenerState
  ) -> Answer<Call> {
    show(round, redirectURI: redirectURI, listener)
    return .proceed([])
  }

  /// Returns the flow's view while the user is on the provider's page in the browser.
  func browser(
    _ state: String, at url: String, redirectURI: String, _ listener: ListenerState
  ) -> FlowView {
    let step = Step.OpenURL(url: url, redirectURI: redirectURI, completes: listener.completes)
    return FlowView(state: state, step: .openURL(step), problem: problem)
  }

  mutating func start(
    _ round: Round, _ problem: Problem?, after effects: [Effect<Call>] = []
  ) -> Answer<Call> {
    self.problem = problem
    if let appRedirectURI { return opened(round, redirectURI: appRedirectURI, .none) }
    prepare(round)
    let expectation = redirect.expectation(state: secret(of: round), form: redirectForm)
    return .proceed(effects + [.listen(expectation)])
  }

  mutating func preparing(_ event: FlowEvent<Call>, _ round: Round) -> Answer<Call> {
    let fixedURI = redirect.fixedURI(secret(of: round), redirectForm)
    switch event {
    case .browser(.listening(let redirectURI)):
      return opened(round, redirectURI: fixedURI ?? redirectURI, .up)
    case .browser(.listenFailed(let message, let mayReachAnother, let isBusy)):
      guard let fixedURI, !redirectForm.isPosted else {
        return failed(isBusy ? .busy(message) : .noListener(message))
      }
      guard hasPKCE || !mayReachAnother else {
        return failed(isBusy ? .busy(message) : .unsafeReturn(message))
      }
      if mayReachAnother { problem = .noListener(message) }
      return opened(round, redirectURI: fixedURI, .none)
    case .daemon(.resumed):
      let expectation = redirect.expectation(state: secret(of: round), form: redirectForm)
      return .proceed([.listen(expectation)])
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  mutating func authorizing(
    _ event: FlowEvent<Call>, _ round: Round, _ redirectURI: String, _ listener: ListenerState,
    _ transition: inout TransitionContext
  ) -> Answer<Call> {
    switch event {
    case .browser(.redirected(let answer)):
      return redirected(answer, round, redirectURI: redirectURI, &transition)
    case .input(.redirect(let url)): return submitted(url, round, redirectURI, &transition)
    case .input(.back): return .noPreviousStep
    case .daemon(.resumed) where appRedirectURI == nil:
      show(round, redirectURI: redirectURI, .restoring)
      let expectation = redirect.expectation(
        state: secret(of: round), earlier: redirectURI, form: redirectForm)
      return .proceed([.listen(expectation)])
    case .browser(.listening(let uri)) where listener == .restoring:
      // The page that is open in the browser redirects to the old port, so it is useless at another
      // one.
      guard uri == redirectURI || isFixed else { return renew(round, .interrupted, &transition) }
      show(round, redirectURI: redirectURI, .up)
      return .proceed([])
    case .browser(.listenFailed(let message, let mayReachAnother, let isBusy))
    where listener == .restoring:
      let canPaste = isFixed && !redirectForm.isPosted
      if isBusy, !(canPaste && hasPKCE) { return failed(.busy(message)) }
      // Another user's program has the port to which the page that is open in the browser
      // redirects.
      if mayReachAnother, !hasPKCE { return failed(.unsafeReturn(message)) }
      guard isFixed else { return renew(round, .interrupted, &transition) }
      guard canPaste else { return failed(.noListener(message)) }
      if mayReachAnother { problem = .noListener(message) }
      show(round, redirectURI: redirectURI, .none)
      return .proceed([])
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  /// Handles the redirect's URL, which the user copied from the browser or the app received.
  private mutating func submitted(
    _ url: Secret, _ round: Round, _ redirectURI: String, _ transition: inout TransitionContext
  ) -> Answer<Call> {
    guard !redirectForm.isPosted else {
      let message = "the provider sends its answer in a form, which no URL contains"
      return .refuse(field: "input.redirectURL", message: message)
    }
    let parsed = RedirectParseResult(
      pasted: url, redirectURI: redirectURI, state: secret(of: round), form: redirectForm)
    switch parsed {
    case .accepted(let answer):
      return redirected(answer, round, redirectURI: redirectURI, &transition)
    case .unrelated:
      let message = "this URL is not the answer to this sign-in"
      return .refuse(field: "input.redirectURL", message: message)
    case .refused(let message): return .refuse(field: "input.redirectURL", message: message)
    }
  }

  private var isFixed: Bool { appRedirectURI == nil && redirect.isFixed }

  private func failed(_ failure: Failure) -> Answer<Call> {
    .fail(copy(failure) { $0.provider = listenerErrorCode ?? $0.provider })
  }

  /// Counts a round in which the provider may have redeemed the code.
  ///
  /// - Returns: Whether another round may start.
  mutating func countLostRound() -> Bool {
    lostRounds += 1
    return lostRounds < Self.maxLostRounds
  }
}

/// An authorization code that is being redeemed. The code is held only during a pause before the
/// next attempt, and only in memory.
protocol CodeRedemption {
  associatedtype Round

  var attempt: Round { get }
  var code: Transient { get set }
  var retrying: RetryBackoff { get set }
}

/// A code grant whose code the daemon redeems at a token endpoint (RFC 6749 §4.1.3).
///
/// The same code is sent again only if the provider has certainly not redeemed it.
protocol RedeemingCodeGrant: CodeGrant {
  associatedtype Redemption: CodeRedemption where Redemption.Round == Round

  /// Enters the state in which the daemon redeems the authorization code (RFC 6749 §4.1.3).
  mutating func keep(_ redemption: Redemption)
  func exchange(_ code: Secret, _ redemption: Redemption) -> Call
  /// Returns the code that a call of this redemption carries; nil for any other call.
  func code(in call: Call, of redemption: Redemption) -> Secret?
  func read(_ reply: HTTPReply, at now: Timestamp) -> TokenReply
  mutating func granted(_ tokens: TokenSet, by code: Secret, _ round: Round) -> Answer<Call>
}

extension RedeemingCodeGrant {
  mutating func redeem(
    _ code: Secret, _ redemption: Redemption, after effects: [Effect<Call>] = []
  ) -> Answer<Call> {
    keep(redemption)
    return .proceed(effects + [.call(exchange(code, redemption))])
  }

  mutating func redeeming(
    _ event: FlowEvent<Call>, _ redemption: Redemption, _ transition: inout TransitionContext
  ) -> Answer<Call> {
    var redemption = redemption
    switch event {
    case .provider(.called(let call, let outcome)):
      guard let code = code(in: call, of: redemption) else { return .ignore }
      if let delay = outcome.delayOfExchange { return redeemLater(code, delay, redemption) }
      return redeemed(code, outcome, redemption.attempt, &transition)
    case .woken where !redemption.retrying.isPaused: return .ignore
    case .woken:
      guard let code = redemption.code.secret else {
        return renew(redemption.attempt, .interrupted, &transition)
      }
      redemption.code = Transient(nil)
      redemption.retrying.endPause()
      return redeem(code, redemption)
    case .daemon(.resumed): return renew(redemption.attempt, .interrupted, &transition)
    case .input, .browser, .provider, .daemon: return .ignore
    }
  }

  private mutating func redeemLater(
    _ code: Secret, _ delay: (message: String, requested: Duration?), _ redemption: Redemption
  ) -> Answer<Call> {
    let failure = Failure.unreachable(delay.message)
    let pause = pause(redemption.retrying, failure, after: delay.requested) { flow, backoff in
      var redemption = redemption
      redemption.code = Transient(code)
      redemption.retrying = backoff
      flow.keep(redemption)
    }
    guard let pause else { return .fail(failure) }
    if delay.requested != nil { problem?.retryAfterMs = Int(pause.milliseconds) }
    return .proceed([.wake(after: pause)])
  }

  private mutating func redeemed(
    _ code: Secret, _ outcome: CallOutcome, _ round: Round, _ transition: inout TransitionContext
  ) -> Answer<Call> {
    let now = transition.now
    switch TokenReply(outcome, read: { read($0, at: now) }) {
    case .granted(let tokens): return granted(tokens, by: code, round)
    case .dead(let errorCode), .misconfigured(let errorCode), .rejected(let errorCode):
      return .fail(.rejected(errorCode))
    case .retry(let message, _):
      guard countLostRound() else { return .fail(.unreachable(message)) }
      return renew(round, .unreachable(message), &transition)
    case .unreadable(let message): return .fail(.protocolError(message))
    }
  }
}

extension CallOutcome {
  /// Why the provider has certainly not redeemed the code, as a sentence, and the delay that the
  /// provider asks for. Nil if the provider may have redeemed it.
  fileprivate var delayOfExchange: (message: String, requested: Duration?)? {
    switch self {
    case .unreachable(let message, sent: false): (message, nil)
    case .reply(let reply) where reply.isPostponed:
      ("the provider answers HTTP \(reply.status)", reply.retryAfter)
    case .reply, .unreachable, .unreadable, .noToken: nil
    }
  }
}
