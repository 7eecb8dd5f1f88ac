package import UsherAPI
package import UsherConfig
package import UsherCore

/// Signs a user in who approves on a device that the provider knows (OpenID Connect CIBA, poll
/// mode).
package struct OIDCBackchannel: FlowMachine, TokenPollingMachine {
  package typealias Event = FlowEvent<OIDCCall>
  package typealias Answer = UsherFlows.Answer<OIDCCall>
  package static let kind = "backchannel"
  package static let summary = "Sign a person in who approves on the person's own device."

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The person, as the provider knows the person, such as an e-mail address.
    package var loginHint: String
    /// A short text that the person's device shows, so that the person recognizes the sign-in.
    package var bindingMessage: String?
    /// The classes of authentication, separated by spaces. The person must use one of them.
    package var acrValues: String?
    /// The scopes, separated by spaces. Default: the configured scopes. `openid` is always
    /// requested.
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
  private var request: OIDCCall.BackchannelRequest
  private let isConfiguredScope: Bool
  private var terms: OIDCSignIn.Terms
  private var state: State
  var problem: Problem?
  /// Why the user has to approve again, until the user has done so.
  private var notice: Problem?

  private enum State: Codable, Sendable, Equatable {
    /// Fetches the provider's metadata. Next: requesting, or the end.
    case discovering(RetryBackoff)
    /// Asks the provider to authenticate the user. Next: polling, or the end.
    case requesting(OIDCMetadata, RetryBackoff)
    /// Polls for the tokens. Next: signingIn, requesting anew, or the end.
    case polling(TokenPolling<BackchannelAuthorization>)
    /// Turns the tokens into an account. Next: the end.
    case signingIn(OIDCSignIn)
  }

  package static func begin(
    _ params: Params, _ context: FlowContext<OIDCSettings>, at transition: inout TransitionContext
  ) throws(UsherError) -> (OIDCBackchannel, Answer) {
    let settings = context.provider.settings
    guard let loginHint = try ParamsValidation.text(params.loginHint, "loginHint") else {
      throw ParamsValidation.wrong("loginHint", "is missing")
    }
    let bindingMessage = try ParamsValidation.text(params.bindingMessage, "bindingMessage")
    // FAPI-CIBA, requirements for clients: without further context, only this text tells the user
    // what is approved.
    guard bindingMessage != nil || !settings.profile.isFAPI2 else {
      throw ParamsValidation.wrong(
        "bindingMessage", "must be present, as profile \(settings.profile.rawValue) demands")
    }
    let acrValues = try ParamsValidation.text(params.acrValues, "acrValues")
    let audiences = context.withGranted(
      audiences: try OIDCRequest.audiences(params.audiences, settings))
    let classes = acrValues?.split(separator: " ").map(String.init) ?? []
    let flow = OIDCBackchannel(
      provider: context.provider,
      request: .init(
        scope: context.withGranted(scope: try OIDCRequest.scope(params.scope, settings)),
        loginHint: loginHint,
        bindingMessage: bindingMessage, acrValues: acrValues, audiences: audiences ?? []),
      isConfiguredScope: params.scope == nil,
      terms: .init(
        acrValues: classes.isEmpty ? nil : classes, account: context.account,
        keepAlive: params.keepAlive ?? false,
        request: SignInOptions(
          kind: kind, acrValues: acrValues, audiences: audiences, loginHint: loginHint)),
      state: .discovering(RetryBackoff()))
    return (flow, .proceed([.discover]))
  }

  package var view: FlowView {
    switch state {
    case .discovering: waiting("discovering", for: "the provider's metadata")
    case .requesting: waiting("requesting", for: "the provider to ask the person")
    case .polling:
      FlowView(
        state: "authorization_pending",
        step: .wait(.init(for: "the person's approval on the person's own device")),
        problem: problem ?? notice)
    case .signingIn(let signIn): signIn.view
    }
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

// MARK: - Asking the provider

extension OIDCBackchannel {
  var scope: String { request.scope }
  var dpopKey: Sealed<Secret>? { terms.dpopKey }

  mutating func discover(_ retrying: RetryBackoff) { state = .discovering(retrying) }

  mutating func discovered(
    _ metadata: OIDCMetadata, _ transition: inout TransitionContext
  ) -> Answer {
    guard metadata.backchannelAuthenticationEndpoint != nil else {
      return .fail(.protocolError("the provider names no backchannel authentication endpoint"))
    }
    guard metadata.backchannelDeliveryModes?.contains("poll") ?? true else {
      return .fail(.protocolError("the provider does not let clients poll for the tokens"))
    }
    if isConfiguredScope { request.scope = metadata.known(in: request.scope) }
    terms.dpopKey = provider.settings.dpopKey(&transition)
    return send(metadata, RetryBackoff())
  }

  private mutating func send(_ metadata: OIDCMetadata, _ retrying: RetryBackoff) -> Answer {
    state = .requesting(metadata, retrying.resumed)
    return .proceed([.call(.backchannelAuthentication(request, metadata))])
  }

  private mutating func requesting(
    _ event: Event, _ metadata: OIDCMetadata, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch event {
    case .provider(.called(.backchannelAuthentication, let outcome)) where !retrying.isPaused:
      if let cause = outcome.unknownAcceptance { return .fail(.mayAsk(cause)) }
      switch BackchannelReply(outcome, read: { .init($0, from: provider.name, at: now) }) {
      case .granted(let authorization): return show(TokenPolling(metadata, authorization))
      case .rejected(let errorCode) where errorCode.code == "access_denied":
        return .fail(.denied(errorCode))
      case .dead(let errorCode), .misconfigured(let errorCode), .rejected(let errorCode):
        return .fail(.rejected(errorCode))
      case .retry(let message, let after):
        return retry(retrying, .unreachable(message), after: after) {
          $0.state = .requesting(metadata, $1)
        }
      case .unreadable(let message): return .fail(.protocolError(message))
      }
    case .woken where retrying.isPaused: return send(metadata, retrying)
    case .daemon(.resumed):
      return retrying.isPaused
        ? send(metadata, retrying) : .fail(.mayAsk("the daemon was restarted"))
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }
}

// MARK: - Waiting for the user

extension OIDCBackchannel {
  mutating func wait(_ polling: TokenPolling<BackchannelAuthorization>) {
    state = .polling(polling)
  }

  mutating func signIn(_ tokens: TokenSet, _ metadata: OIDCMetadata) -> Answer {
    let (signIn, answer) = OIDCSignIn.begin(tokens, metadata, terms)
    state = .signingIn(signIn)
    problem = nil
    notice = nil
    return answer
  }

  /// Asks the provider again, because its answer was lost: the user has to approve the new request.
  mutating func requestAnew(_ metadata: OIDCMetadata) -> Answer {
    notice = Problem(
      reason: Problem.interrupted.reason, title: Problem.interrupted.title,
      message: "the provider's answer was lost: please approve the new request")
    problem = nil
    return send(metadata, RetryBackoff())
  }
}

extension CallOutcome {
  /// Why the provider may have accepted the request although its answer is not known; nil if the
  /// provider has answered, or the request has not arrived.
  fileprivate var unknownAcceptance: String? {
    switch self {
    case .unreachable(let message, sent: true): message
    // A gateway may have passed the request on.
    case .reply(let reply) where reply.status >= 500 && !reply.isPostponed:
      "the provider answers HTTP \(reply.status)"
    case .reply, .unreachable, .unreadable, .noToken: nil
    }
  }
}

extension Failure {
  /// The failure of a flow whose request may have been accepted. The request is not repeated,
  /// because the person's device would ask twice.
  fileprivate static func mayAsk(_ cause: String) -> Failure {
    .unreachable(
      "\(cause); the person's device may already ask about this sign-in: decline it there, and "
        + "start another one", retryable: false)
  }
}
