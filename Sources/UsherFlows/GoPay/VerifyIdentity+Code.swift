import UsherAPI
import UsherConfig
import UsherCore

// Gets an auth code: with a linking token, or through the log-in page in the browser.
extension VerifyIdentity {
  mutating func requestAuthCode(
    _ transition: inout TransitionContext, problem: Problem? = nil
  ) -> Answer {
    guard let link = order.link else { return start(LinkLogin(&transition), problem) }
    self.problem = problem
    state = .authCode(link, RetryBackoff())
    return .proceed([.call(order.authCode(link))])
  }

  mutating func authCode(
    _ event: Event, _ link: LinkingToken, _ retrying: RetryBackoff,
    _ transition: inout TransitionContext
  ) -> Answer {
    let call = order.authCode(link)
    if event.repeatsCall(retrying) {
      state = .authCode(link, retrying.resumed)
      return .proceed([.call(call)])
    }
    guard let outcome = event.outcome(of: call, retrying) else { return .ignore }
    switch GoPayReply(outcome, to: call) {
    case .success(let data):
      do throws(UnusableReply) {
        return exchange(try data.authCode(), &transition)
      } catch {
        return .fail(.unusable(gopay: error.message, provider.name))
      }
    case .refused(let refusal): return .fail(refusal.failure(provider.name))
    case .failed(let fault):
      return retry(retrying, fault.failure(provider.name), after: fault.retryAfter) {
        $0.state = .authCode(link, $1)
      }
    case .unreadable(let message), .noToken(let message):
      return .fail(.unusable(gopay: message, provider.name))
    }
  }
}

// The log-in page in the browser.
extension VerifyIdentity {
  var redirectForm: RedirectForm { .gopay }

  var redirect: Redirect { provider.settings.redirect }
  var appRedirectURI: String? { order.redirectURI }

  var listenerErrorCode: ProviderErrorCode? {
    GoPayErrorCode.unknown.providerErrorCode(provider.name)
  }

  func secret(of login: LinkLogin) -> Secret { login.state.unsealed() }

  mutating func prepare(_ login: LinkLogin) { state = .preparing(login) }

  mutating func show(_ login: LinkLogin, redirectURI: String, _ listener: ListenerState) {
    state = .login(login, redirectURI: redirectURI, listener)
  }

  mutating func renew(
    _ login: LinkLogin, _ problem: Problem, _ transition: inout TransitionContext
  ) -> Answer {
    start(LinkLogin(&transition), problem)
  }

  mutating func redirected(
    _ answer: AuthorizationResponse, _ login: LinkLogin, redirectURI: String,
    _ transition: inout TransitionContext
  ) -> Answer {
    if answer.error != nil { return .fail(.logIn(answer, provider.name)) }
    guard let code = answer.code, code.revealed().isVisible(upTo: GoPayData.maxTokenBytes) else {
      let message = "the log-in returned neither an auth code nor an error"
      return .fail(.unusable(gopay: message, provider.name))
    }
    return exchange(code, after: [.stopListening], &transition)
  }
}
