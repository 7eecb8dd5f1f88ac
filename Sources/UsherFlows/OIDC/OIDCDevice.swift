package import UsherAPI
package import UsherConfig
package import UsherCore

/// Signs a user in on another device: the user enters there a code that this flow shows (RFC 8628).
package struct OIDCDevice: FlowMachine, DiscoveringMachine {
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
  private var scope: String
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
    case polling(Polling)
    /// Turns the tokens into an account. Next: the end.
    case signingIn(OIDCSignIn)
  }

  private struct Polling: Codable, Sendable, Equatable {
    let metadata: OIDCMetadata
    let device: DeviceAuthorization
    /// The time between two polls in seconds. It never decreases during a flow.
    var interval: Int
    /// Whether a poll is in progress; false while the flow waits for the next one.
    var isAsking = false
    /// Whether the reply to a poll was lost. That reply may have contained the tokens; then the
    /// provider has invalidated the device code.
    var isDoubtful = false

    /// The same polling after a reply which shows that the device code is not spent, because the
    /// user has not finished.
    var unspent: Polling { copy(self) { $0.isDoubtful = false } }

    func markedDoubtful(_ doubts: Bool) -> Polling {
      copy(self) { $0.isDoubtful = isDoubtful || doubts }
    }
  }

  /// The upper limit, in seconds, of an interval that is doubled after timeouts. An interval that
  /// the provider asks for may be longer.
  package static let maxInterval = 60

  package static func begin(
    _ params: Params, _ context: FlowContext<OIDCSettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (OIDCDevice, Answer) {
    let provider = context.provider
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
            userCode: polling.device.userCode, verificationURI: polling.device.verificationURI,
            verificationURIComplete: polling.device.verificationURIComplete,
            expiresAt: polling.device.expiresAt)),
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
  ) -> ProviderErrorCode? {
    let codes: [Failure.Reason: String] = [.cancelled: "access_denied", .expired: "expired_token"]
    return codes[ending].map { ProviderErrorCode(name: provider, code: $0) }
  }
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
        return show(Polling(metadata: metadata, device: device, interval: device.interval))
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
  private mutating func show(_ polling: Polling, problem: Problem? = nil) -> Answer {
    state = .polling(copy(polling) { $0.isAsking = false })
    self.problem = problem
    return .proceed([.wake(after: .seconds(polling.interval))])
  }

  private mutating func polling(_ event: Event, _ polling: Polling, _ now: Timestamp) -> Answer {
    let poll = OIDCCall.devicePoll(
      deviceCode: polling.device.deviceCode.unsealed(), polling.metadata
    ).bound(to: terms.dpopKey)
    switch event {
    case .woken where !polling.isAsking:
      guard now < polling.device.expiresAt else {
        return .fail(.expired(ProviderErrorCode(name: provider.name, code: "expired_token")))
      }
      state = .polling(copy(polling) { $0.isAsking = true })
      return .proceed([.call(poll)])
    case .provider(.called(poll, let outcome)) where polling.isAsking:
      return answered(outcome, polling, now)
    // After a restart the poll is repeated, because its reply may be lost.
    case .daemon(.resumed): return show(polling.markedDoubtful(polling.isAsking), problem: problem)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func answered(
    _ outcome: CallOutcome, _ polling: Polling, _ now: Timestamp
  ) -> Answer {
    switch outcome {
    case .reply(let reply):
      let request = TokenRequest(provider, scope: scope)
      return answered(TokenReply(reply, to: request, at: now), polling)
    case .unreachable(let message, let sent): return slowDown(polling.markedDoubtful(sent), message)
    case .unreadable(let message), .noToken(let message): return .fail(.protocolError(message))
    }
  }

  private mutating func answered(_ reply: TokenReply, _ polling: Polling) -> Answer {
    switch reply {
    case .granted(let tokens):
      let (signIn, answer) = OIDCSignIn.begin(tokens, polling.metadata, terms)
      state = .signingIn(signIn)
      problem = nil
      notice = nil
      return answer
    case .dead(let errorCode), .misconfigured(let errorCode), .rejected(let errorCode):
      return refused(errorCode, polling)
    case .retry(let message, _): return slowDown(polling.markedDoubtful(true), message)
    case .unreadable(let message): return .fail(.protocolError(message))
    }
  }

  /// Handles the error code in the reply to a poll (RFC 8628 §3.5).
  private mutating func refused(_ errorCode: ProviderErrorCode, _ polling: Polling) -> Answer {
    switch errorCode.code {
    case "authorization_pending": return show(polling.unspent)
    // The provider asks for five seconds more between all further polls.
    case "slow_down": return show(copy(polling.unspent) { $0.interval += 5 })
    case "access_denied": return .fail(.denied(errorCode))
    case "expired_token": return .fail(.expired(errorCode))
    case "invalid_grant" where polling.isDoubtful: return requestAnew(polling.metadata)
    default: return .fail(.rejected(errorCode))
    }
  }

  /// Requests a new device code, because the lost reply contained the tokens: the user has to enter
  /// a code again.
  private mutating func requestAnew(_ metadata: OIDCMetadata) -> Answer {
    notice = Problem(
      reason: Problem.interrupted.reason, title: Problem.interrupted.title,
      message: "the provider's answer was lost: please enter the new code")
    problem = nil
    return request(metadata, RetryBackoff())
  }

  /// Doubles the interval between polls for the rest of the flow, because a poll timed out (RFC
  /// 8628 §3.5).
  private mutating func slowDown(_ polling: Polling, _ message: String) -> Answer {
    let interval = max(polling.interval, min(polling.interval * 2, Self.maxInterval))
    return show(copy(polling) { $0.interval = interval }, problem: .unreachable(message))
  }
}
