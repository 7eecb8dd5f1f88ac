package import UsherAPI
package import UsherConfig
package import UsherCore

/// Signs a user in on another device: the user enters there a code that this flow shows (RFC 8628).
package struct OIDCDevice: FlowMachine, TokenPollingMachine {
  package typealias Event = FlowEvent<OIDCCall>
  package typealias Answer = UsherFlows.Answer<OIDCCall>
  package static let kind = "device"
  package static let summary = "Sign a person in with a browser on another device."

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The scopes, separated by spaces. Default: the configured scopes. At an OpenID provider
    /// `openid` is always requested.
    package var scope: String?
    /// The audiences for which tokens will be requested. Default: the configured ones. Not at a
    /// provider without `audience_parameter` in its configuration.
    package var audiences: [String]?
    /// An existing account to sign in again. The sign-in of any other user is refused. What the
    /// account has by now is requested, too, so that no program loses it.
    package var account: AccountID?
    /// Whether the daemon refreshes the tokens in the background.
    package var keepAlive: Bool?
  }

  package let provider: Provider<OIDCSettings>
  private(set) var scope: String
  /// Whether the scope is that of the configuration; nil in flows that an older version stored.
  private var isConfiguredScope: Bool?
  /// The audiences; nil if there are none.
  private var audiences: [String]?
  private var terms: OIDCSignIn.Terms
  private var state: State
  var problem: Problem?
  /// Why the shown code is not the first one, for the user. It is shown until the user has used the
  /// new code.
  private var notice: Problem?

  private enum State: Codable, Sendable, Equatable {
    /// Fetches the provider's metadata. Next: requesting, or the end.
    case discovering(RetryBackoff)
    /// Requests a device code. Next: polling, or the end.
    case requesting(OIDCMetadata, RetryBackoff)
    /// Shows the code and polls for the tokens. Next: signingIn, requesting with a new code, or the
    /// end.
    case polling(TokenPolling<DeviceAuthorization>)
    /// Turns the tokens into an account. Next: the end.
    case signingIn(OIDCSignIn)
  }

  package static func begin(
    _ params: Params, _ context: FlowContext<OIDCSettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (OIDCDevice, Answer) {
    let provider = context.provider
    // FAPI 2.0 has no profile of this grant, in which a user can be made to approve the sign-in of
    // another person (RFC 8628 §5.4).
    guard !provider.settings.profile.isFAPI2 else {
      throw UsherError(
        .permissionDenied,
        "provider \(provider.name) has profile \(provider.settings.profile.rawValue), which does "
          + "not permit the flow device: start authorize or backchannel")
    }
    let audiences = context.withGranted(
      audiences: try OIDCRequest.audiences(params.audiences, provider.settings))
    let flow = OIDCDevice(
      provider: provider,
      scope: context.withGranted(scope: try OIDCRequest.scope(params.scope, provider.settings)),
      isConfiguredScope: params.scope == nil, audiences: audiences,
      terms: .init(
        account: context.account, keepAlive: params.keepAlive ?? false,
        request: SignInOptions(kind: kind, audiences: audiences), needsIDToken: false),
      state: .discovering(RetryBackoff()))
    return (flow, .proceed([.discover]))
  }

  package var view: FlowView {
    switch state {
    case .discovering: waiting("discovering", for: "the provider's metadata")
    case .requesting: waiting("requesting", for: "the provider's code")
    case .polling(let polling):
      FlowView(
        state: "authorization_pending",
        step: .displayCode(
          .init(
            userCode: polling.authorization.userCode,
            verificationURI: polling.authorization.verificationURI,
            verificationURIComplete: polling.authorization.verificationURIComplete,
            expiresAt: polling.authorization.expiresAt)),
        problem: problem ?? notice)
    case .signingIn(let signIn): signIn.view
    }
  }

  private func waiting(_ state: String, for what: String) -> FlowView {
    FlowView(state: state, step: .wait(.init(for: what)), problem: problem ?? notice)
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case .discovering(let retrying): return discovering(event, retrying, &transition)
    case .requesting(let metadata, let retrying):
      return requesting(event, metadata, retrying, transition.now)
    case .polling(let polling): return self.polling(event, polling, transition.now)
    case .signingIn(var signIn):
      let answer = signIn.receive(event, provider, at: transition.now)
      state = .signingIn(signIn)
      return answer
    }
  }

  package var callsIfAbandoned: [OIDCCall] {
    if case .signingIn(let signIn) = state { signIn.callsIfAbandoned } else { [] }
  }

  package static func providerErrorCode(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? { pollingErrorCode(for: ending, provider: provider) }
}

// MARK: - Getting a code

extension OIDCDevice {
  mutating func discover(_ retrying: RetryBackoff) { state = .discovering(retrying) }

  mutating func discovered(
    _ metadata: OIDCMetadata, _ transition: inout TransitionContext
  ) -> Answer {
    guard metadata.deviceAuthorizationEndpoint != nil else {
      return .fail(.protocolError("the provider names no device authorization endpoint"))
    }
    if isConfiguredScope == true { scope = metadata.known(in: scope) }
    terms.dpopKey = provider.settings.dpopKey(&transition)
    return request(metadata, RetryBackoff())
  }

  private mutating func request(_ metadata: OIDCMetadata, _ retrying: RetryBackoff) -> Answer {
    state = .requesting(metadata, retrying.resumed)
    return .proceed([
      .call(.deviceAuthorization(scope: scope, audiences: audiences ?? [], metadata))
    ])
  }

  private mutating func requesting(
    _ event: Event, _ metadata: OIDCMetadata, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch event {
    case .provider(.called(.deviceAuthorization, let outcome)):
      switch DeviceReply(outcome, read: { .init($0, from: provider.name, at: now) }) {
      case .granted(let device):
        return show(TokenPolling(metadata, device))
      case .dead(let errorCode), .misconfigured(let errorCode), .rejected(let errorCode):
        return .fail(.rejected(errorCode))
      // The call is repeated although an earlier one may have succeeded: a code that the user never
      // saw expires by itself.
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
}

// MARK: - Waiting for the user

extension OIDCDevice {
  var dpopKey: Sealed<Secret>? { terms.dpopKey }

  mutating func wait(_ polling: TokenPolling<DeviceAuthorization>) { state = .polling(polling) }

  mutating func signIn(_ tokens: TokenSet, _ metadata: OIDCMetadata) -> Answer {
    let (signIn, answer) = OIDCSignIn.begin(tokens, metadata, terms)
    state = .signingIn(signIn)
    problem = nil
    notice = nil
    return answer
  }

  /// Requests a new device code, because the lost reply contained the tokens: the user has to enter
  /// a code again.
  mutating func requestAnew(_ metadata: OIDCMetadata) -> Answer {
    notice = Problem(
      reason: Problem.interrupted.reason, title: Problem.interrupted.title,
      message: "the provider's answer was lost: please enter the new code")
    problem = nil
    return request(metadata, RetryBackoff())
  }
}
