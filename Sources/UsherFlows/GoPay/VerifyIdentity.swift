package import UsherAPI
package import UsherConfig
package import UsherCore

/// Verifies a user's identity with GoPay; a credential may be exchanged before (SDK documentation;
/// provider contract §3; page GoPay in Usher.docc).
///
/// The flow ends when the user has submitted photos of card and face; ``IdentityVerdict`` handles
/// the verdict, which GoPay reports later.
package struct VerifyIdentity: FlowMachine, CodeGrant {
  package typealias Event = FlowEvent<GoPayCall>
  package typealias Answer = UsherFlows.Answer<GoPayCall>
  package static let kind = "verify"
  package static let accountUse = AccountUse.named
  package static let summary = "Verify a person's identity with GoPay."
  package static let judgesRequestID = true

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The id that links the app's user to GoPay.
    package var userCorrelationId: String?
    /// Whether an auth code is exchanged for a linking token: `exchange`, or `none`.
    package var credentialReceiver: CredentialReceiver
    /// A linking token: short-term with `exchange`, long-term with `none`. A blank one counts as
    /// absent.
    package var token: WireSecret?
    /// An account whose linking token is used instead of `token`.
    package var account: AccountID?
    /// The URL at which the app itself receives the log-in's redirect: https, or http on the
    /// loopback. If absent, the daemon listens.
    package var redirectURI: String?
    /// The URL that the capture page redirects to at its end: https, or http on the loopback.
    package var returnUrl: String?
    /// The language of the provider's pages.
    package var locale: GoPayLocale?
    /// Reserved by the vendor: a value is refused.
    package var featureId: String?
  }

  /// Whether the flow gets an auth code and has it redeemed before the capture.
  package enum CredentialReceiver: String, Codable, Sendable, Equatable, CaseIterable {
    case exchange, none
  }

  package let provider: Provider<GoPaySettings>
  let order: IdentityRequest
  var state: State
  var problem: Problem?
  var lostRounds = 0

  enum State: Codable, Sendable, Equatable {
    /// The flow failed before any call to GoPay.
    case refused(Failure)
    /// Opens the loopback listener. Next: login, or the end.
    case preparing(LinkLogin)
    /// The user is in the browser. Next: waitAck, preparing or itself with another round, or the
    /// end.
    case login(LinkLogin, redirectURI: String, ListenerState)
    /// Requests an auth code with the linking token. Next: waitAck, or the end.
    case authCode(LinkingToken, RetryBackoff)
    /// Waits until the auth code is redeemed. Next: kyc, authCode, preparing, login, or the end.
    case waitAck(CodeExchange)
    /// Requests the status of an earlier submission. Next: kyc, or the end.
    case current(LinkingToken, RetryBackoff)
    /// The user photographs card and face. Next: the end.
    case kyc(Capture)
    /// The user has submitted, and the flow has succeeded.
    case submitted
  }

  package static let maxLostRounds = 3

  package static func begin(
    _ params: Params, _ context: FlowContext<GoPaySettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (VerifyIdentity, Answer) {
    let provider = context.provider
    let order = try IdentityRequest(params, context)
    if let failure = order.flaw(context) {
      let flow = VerifyIdentity(provider: provider, order: order, state: .refused(failure))
      return (flow, .fail(failure))
    }
    var flow = VerifyIdentity(
      provider: provider, order: order, state: .preparing(LinkLogin(&transition)))
    let answer = flow.start(isKnown: context.account != nil, &transition)
    return (flow, answer)
  }

  private mutating func start(isKnown: Bool, _ transition: inout TransitionContext) -> Answer {
    switch (order.receiver, order.link) {
    case (.exchange, _): requestAuthCode(&transition)
    case (.none, let link?) where isKnown: requestSubmission(of: link, RetryBackoff())
    case (.none, let link?): capture(.link(link), &transition)
    // Unreachable: ``IdentityRequest/flaw(_:)`` refuses such parameters.
    case (.none, nil): .ignore
    }
  }

  package var view: FlowView {
    switch state {
    case .refused: waiting(order.firstState, for: "nothing")
    case .preparing: waiting("preparing", for: "the local callback listener")
    case .login(let login, let redirectURI, let listener):
      browser(
        "login", at: login.url(order, redirectURI: redirectURI, provider.settings),
        redirectURI: redirectURI, listener)
    case .authCode: waiting("authCode", for: "an auth code")
    case .waitAck(let exchange):
      FlowView(state: "waitAck", step: exchange.step(order), problem: problem)
    case .current: waiting("current", for: "the look-up of an earlier submission")
    case .kyc(let capture): FlowView(state: "kyc", step: capture.step, problem: problem)
    case .submitted: waiting("submitted", for: "nothing")
    }
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    let (held, secrets) = (callsIfAbandoned, secrets)
    let answer = moved(by: event, at: &transition)
    problem = problem?.hiding(secrets + self.secrets)
    guard case .fail(let failure, let calls) = answer else { return answer }
    return .fail(failure.hiding(secrets + self.secrets), cleanUp: held + calls)
  }

  /// The secrets that the flow holds. GoPay might repeat them in a reply to a call that does not
  /// carry them.
  private var secrets: [Secret] {
    let own: [Sealed<Secret>] =
      switch state {
      case .preparing(let login), .login(let login, redirectURI: _, _): [login.state]
      case .waitAck(let exchange): [exchange.code]
      case .kyc(let capture): capture.secrets
      case .refused, .authCode, .current, .submitted: []
      }
    return (own + [order.link?.secret].compactMap(\.self)).map { $0.unsealed() }
  }

  private mutating func moved(by event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case .refused(let failure): event == .daemon(.resumed) ? .fail(failure) : .ignore
    case .preparing(let login): preparing(event, login)
    case .login(let login, let redirectURI, let listener):
      authorizing(event, login, redirectURI, listener, &transition)
    case .authCode(let link, let retrying): authCode(event, link, retrying, &transition)
    case .waitAck(let exchange): waitAck(event, exchange, &transition)
    case .current(let link, let retrying): current(event, link, retrying, &transition)
    case .kyc(let capture): kyc(event, capture, transition.now)
    case .submitted: .ignore
    }
  }
}

// MARK: - The end of time

extension VerifyIdentity {
  /// The deadline of the capture, which may be long after the one of the log-in.
  package var endsAt: Timestamp? {
    if case .kyc(let capture) = state { capture.deadline } else { nil }
  }

  package var expiryFailure: Failure? {
    endsAt.map { _ in .captureTimedOut(provider.settings.captureSeconds, provider.name) }
  }
}

// MARK: - Callbacks and clean-up

extension VerifyIdentity {
  package func validate(
    _ callback: ProviderCallback, token: (AccountID) -> Secret?
  ) -> CallbackVerdict {
    guard case .kyc(let capture) = state, let page = capture.page else { return .noMatch }
    let linkingToken: Secret? =
      switch capture.link {
      case .token(let token): token.unsealed()
      case .account(let account): token(account)
      case nil: nil
      }
    return callback.verdict(
      requestID: order.requestID, submissionID: page.submissionID, token: linkingToken)
  }

  /// The call that removes the binding which this flow created, because no account will store it.
  package var callsIfAbandoned: [GoPayCall] {
    guard case .kyc(let capture) = state, capture.isBound, let token = capture.link?.secret else {
      return []
    }
    return [.unbinding(token: token.unsealed(), device: order.installation)]
  }

  package static func cleanUp(_ call: GoPayCall, _ outcome: CallOutcome) -> [GoPayCall] {
    guard case .binding(_, let device, externalID: _) = call,
      case .success(let data) = GoPayReply(outcome, to: call), let token = try? data.linkingToken()
    else { return [] }
    return [.unbinding(token: token, device: device)]
  }

  package static func providerErrorCode(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? {
    [.cancelled, .expired].contains(ending)
      ? GoPayErrorCode.cancelled.providerErrorCode(provider) : nil
  }
}
