import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

@testable package import UsherFlows

/// Sign-in with a badge: one call, whose reply has the user and an access token.
package struct ExampleSignIn: FlowMachine {
  package static let kind = "signIn"
  package static let summary = "Sign a person in with a badge."

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The number of the badge.
    package var badge: WireSecret

    package init(badge: WireSecret) { self.badge = badge }
  }

  package let provider: Provider<ExampleSettings>
  private let badge: Sealed<Secret>
  private var state: State
  private var problem: Problem?

  private enum State: Codable, Sendable, Equatable {
    /// The call is in progress. → paused, or the end
    case calling(RetryBackoff)
    /// The provider could not be reached. → calling
    case paused(RetryBackoff)
  }

  package static func begin(
    _ params: Params, _ origin: FlowContext<ExampleSettings>, at moment: inout TransitionContext
  ) throws(UsherError) -> (ExampleSignIn, Answer<ExampleCall>) {
    guard !params.badge.secret.isEmpty else {
      throw ParamsValidation.wrong("badge", "must not be empty")
    }
    var flow = ExampleSignIn(
      provider: origin.provider, badge: Sealed(params.badge.secret), state: .calling(.init()))
    let answer = flow.call(RetryBackoff())
    return (flow, answer)
  }

  package var view: FlowView {
    switch state {
    case .calling: waiting("calling", for: "the provider's answer")
    case .paused: waiting("paused", for: "the provider to be reachable")
    }
  }

  private func waiting(_ state: String, for what: String) -> FlowView {
    FlowView(state: state, step: .wait(.init(for: what)), problem: problem)
  }

  package mutating func receive(
    _ event: FlowEvent<ExampleCall>, at moment: inout TransitionContext
  ) -> Answer<ExampleCall> {
    switch state {
    case .calling(let backoff): calling(event, backoff, at: moment.now)
    case .paused(let backoff): paused(event, backoff)
    }
  }
}

extension ExampleSignIn {
  private var session: ExampleCall { .session(badge: badge.unsealed()) }

  private mutating func call(_ backoff: RetryBackoff) -> Answer<ExampleCall> {
    var backoff = backoff
    backoff.endPause()
    state = .calling(backoff)
    return .proceed([.call(session)])
  }

  private mutating func calling(
    _ event: FlowEvent<ExampleCall>, _ backoff: RetryBackoff, at now: Timestamp
  ) -> Answer<ExampleCall> {
    switch event {
    case .provider(.called(session, .reply(let reply))): return finish(reply, at: now)
    case .provider(.called(session, .unreachable(let message, sent: _))):
      return pause(message, backoff)
    case .provider(.called(session, .unreadable(let message))),
      .provider(.called(session, .noToken(let message))):
      return .fail(.protocolError(message))
    case .daemon(.resumed): return call(backoff)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func paused(
    _ event: FlowEvent<ExampleCall>, _ backoff: RetryBackoff
  ) -> Answer<ExampleCall> {
    switch event {
    case .woken, .daemon(.resumed): call(backoff)
    case .input, .browser, .provider, .daemon: .ignore
    }
  }

  private mutating func pause(_ message: String, _ backoff: RetryBackoff) -> Answer<ExampleCall> {
    var backoff = backoff
    guard let pause = backoff.failed() else { return .fail(.unreachable(message)) }
    state = .paused(backoff)
    problem = .unreachable(message)
    return .proceed([.wake(after: pause)])
  }

  private func finish(_ reply: HTTPReply, at now: Timestamp) -> Answer<ExampleCall> {
    guard reply.status == 200 else {
      return .fail(.rejected(ProviderErrorCode(name: provider.name, code: "\(reply.status)")))
    }
    guard let members = (try? JSONValue(parsing: reply.body))?.objectValue,
      let user = members["user"]?.stringValue, !user.isEmpty,
      let token = members["token"]?.stringValue, !token.isEmpty
    else { return .fail(.protocolError("the provider's reply has no user or no token")) }
    let tokens = TokenSet(
      accessToken: Sealed(Secret(token)), tokenType: "Bearer",
      expiresAt: now + .seconds(provider.settings.tokenSeconds), scope: "")
    let label = ProviderText.clean(members["name"]?.stringValue ?? user)
    return .finish(
      Completion(grant: AccountGrant(subject: user, label: label, tokens: tokens)))
  }
}
