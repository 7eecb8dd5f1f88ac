import UsherAPI
import UsherConfig
import UsherCore

// The way to an auth code: with a linking token, or through the log-in page.
extension VerifyIdentity {
  mutating func requestAuthCode(
    _ transition: inout TransitionContext, problem: Problem? = nil
  ) -> Answer<GoPayCall> {
    guard let link = order.link else { return logIn(&transition, problem: problem) }
    self.problem = problem
    state = .authCode(link, RetryBackoff())
    return .proceed([.call(order.authCode(link))])
  }

  mutating func authCode(
    _ event: FlowEvent<GoPayCall>, _ link: KnownLink, _ retrying: RetryBackoff,
    _ transition: inout TransitionContext
  ) -> Answer<GoPayCall> {
    let call = order.authCode(link)
    switch event {
    case .provider(.called(call, let outcome)) where !retrying.isPaused:
      switch GoPayReply(outcome, to: call) {
      case .success(let data):
        do throws(UnusableReply) {
          return exchange(try data.authCode(), &transition)
        } catch {
          return .fail(.unusable(gopay: error.message, provider.name))
        }
      case .refused(let refusal): return .fail(refusal.failure(provider.name))
      case .failed(let fault):
        return tryLater(fault, retrying) { .authCode(link, $0) }
      case .unreadable(let message): return .fail(.unusable(gopay: message, provider.name))
      }
    case .woken where !retrying.isPaused: return .ignore
    case .woken, .daemon(.resumed):
      var retrying = retrying
      retrying.endPause()
      state = .authCode(link, retrying)
      return .proceed([.call(call)])
    case .input, .browser, .provider, .daemon:
      return .ignore
    }
  }

  /// - Parameter waiting: Returns the state during the pause.
  mutating func tryLater(
    _ fault: GoPayReplyError, _ retrying: RetryBackoff, _ waiting: (RetryBackoff) -> State
  ) -> Answer<GoPayCall> {
    var retrying = retrying
    guard let pause = retrying.failed() else { return .fail(fault.failure(provider.name)) }
    state = waiting(retrying)
    problem = .unreachable(fault, provider.name)
    return .proceed([.wake(after: RetryBackoff.pause(pause, asked: fault.retryAfter))])
  }
}

// The log-in page in the browser.
extension VerifyIdentity {
  private mutating func logIn(
    _ transition: inout TransitionContext, problem: Problem?
  ) -> Answer<GoPayCall> {
    self.problem = problem
    let login = LinkLogin(&transition)
    if let redirectURI = order.redirectURI {
      state = .login(login, redirectURI: redirectURI, .none)
      return .proceed([])
    }
    state = .preparing(login)
    let redirect = provider.settings.redirect
    return .proceed([
      .listen(redirect.expectation(state: login.state.unsealed(), form: .gopay))
    ])
  }

  mutating func preparing(
    _ event: FlowEvent<GoPayCall>, _ login: LinkLogin
  ) -> Answer<GoPayCall> {
    let redirect = provider.settings.redirect
    let opening = redirect.opening(
      event, state: login.state.unsealed(), hasPKCE: false, form: .gopay)
    switch opening {
    case .open(let redirectURI, let listener, let problem):
      self.problem = problem ?? self.problem
      state = .login(login, redirectURI: redirectURI, listener)
      return .proceed([])
    case .listenAgain(let expectation): return .proceed([.listen(expectation)])
    case .failed(var failure):
      failure.provider = GoPayErrorCode.unknown.providerErrorCode(provider.name)
      return .fail(failure)
    case .nothing: return .ignore
    }
  }

  mutating func loggingIn(
    _ event: FlowEvent<GoPayCall>, _ login: LinkLogin, _ redirectURI: String,
    _ listener: ListenerState, _ transition: inout TransitionContext
  ) -> Answer<GoPayCall> {
    let browserReturn = BrowserReturn(
      redirectURI: redirectURI, listener: listener, state: login.state.unsealed(),
      redirect: order.redirectURI == nil ? provider.settings.redirect : nil, hasPKCE: false,
      form: .gopay)
    switch browserReturn.outcome(of: event) {
    case .redirected(let answer): return handleRedirect(answer, &transition)
    case .listenAgain(let expectation):
      state = .login(login, redirectURI: redirectURI, .restoring)
      return .proceed([.listen(expectation)])
    case .listener(let listener, let problem):
      self.problem = problem ?? self.problem
      state = .login(login, redirectURI: redirectURI, listener)
      return .proceed([])
    case .failed(var failure):
      failure.provider = GoPayErrorCode.unknown.providerErrorCode(provider.name)
      return .fail(failure)
    case .listenerLost: return logIn(&transition, problem: .interrupted)
    case .refused(let field, let message): return .refuse(field: field, message: message)
    case .nothing: return .ignore
    }
  }

  private mutating func handleRedirect(
    _ answer: AuthorizationResponse, _ transition: inout TransitionContext
  ) -> Answer<GoPayCall> {
    if answer.error != nil { return .fail(.logIn(answer, provider.name)) }
    guard let code = answer.code, code.isAuthCode else {
      let message = "the log-in returned neither an auth code nor an error"
      return .fail(.unusable(gopay: message, provider.name))
    }
    return exchange(code, after: [.stopListening], &transition)
  }
}

extension Secret {
  /// Whether the code can be sent in a header or in JSON.
  fileprivate var isAuthCode: Bool {
    let text = revealed().utf8
    return (1...GoPayData.maxTokenBytes).contains(text.count) && text.allSatisfy(\.isVisible)
  }
}
