import JSONRPC
import UsherAPI
package import UsherConfig
package import UsherCore

/// Signs a user in with a browser in mode `oauth2`, for the grants that the user approves there
/// (provider contract §4.2, §4.3; page FreedomID in Usher.docc).
///
/// The code is redeemed once: if the reply is lost, the user returns to the browser. If the user's
/// identity cannot be requested, or the flow is cancelled or expires before that, the tokens are
/// stored for the next flow of this kind, which requests the identity without the browser.
package struct FreedomPartnerAuthorize: FreedomFlow, CodeGrant {
  package typealias Event = FlowEvent<FreedomPartnerCall>
  package typealias Answer = UsherFlows.Answer<FreedomPartnerCall>
  package static let kind = "authorize"
  package static let summary =
    "Sign a person in with a browser and get the data the person agrees to share."

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The requested fields: `read.firstname`, …; also `read.profile`, `read.cards` and `openid`.
    package var grants: [String]
    /// An account to sign in again; a sign-in of another user is refused.
    package var account: AccountID?
  }

  package let provider: Provider<FreedomIDSettings>
  /// The requested grants, in the order in which Freedom ID lists them.
  let grants: [PartnerGrant]
  let account: KnownAccount?
  var state: State
  var problem: Problem?
  var lostRounds = 0
  /// The tokens, to be stored for a later flow until their user is known. Nil before there are
  /// tokens, and in states stored by version 0.1.0.
  var handoffSecret: HandoffSecret?
  /// Whether the tokens come from an earlier flow. Nil means no.
  var usesKeptTokens: Bool?

  enum State: Codable, Sendable, Equatable {
    /// Opens the loopback listener. Next: visiting, or the end.
    case preparing(Sealed<Secret>)
    /// The user is in the browser, or waits for the link to the page. Next: exchanging, preparing,
    /// or the end.
    case visiting(FreedomVisit)
    /// Redeems the authorization code. The code is held only during a pause before the next
    /// attempt, and only in memory. Next: completing, preparing, or the end.
    case exchanging(Transient, RetryBackoff)
    /// Asks Freedom ID for the user of the tokens. Next: preparing, or the end.
    case completing(TokenSet, RetryBackoff)
  }

  package static let maxLostRounds = 3

  package static func begin(
    _ params: Params, _ context: FlowContext<FreedomIDSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (FreedomPartnerAuthorize, Answer) {
    let provider = context.provider
    let secret = FreedomVisit.secret(&transition)
    func flow(_ grants: [PartnerGrant]) -> FreedomPartnerAuthorize {
      FreedomPartnerAuthorize(
        provider: provider, grants: grants, account: context.account, state: .preparing(secret))
    }
    do throws(Failure) {
      var flow = flow(try params.grants.partnerGrants(at: provider.name))
      let answer = flow.resume(with: context.handoffSecrets) ?? flow.start(secret, nil)
      return (flow, answer)
    } catch {
      return (flow([]), .fail(error))
    }
  }

  package var view: FlowView {
    switch state {
    case .preparing: waiting("preparing", for: "the local callback listener")
    case .visiting(let visit):
      visit.link.map {
        FlowView(state: "browser", step: .openURL($0.step(visit)), problem: problem)
      } ?? waiting("preparing", for: "the provider's link")
    case .exchanging: waiting("exchanging", for: "the provider's tokens")
    case .completing: waiting("completion", for: "the profile")
    }
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case .preparing(let secret): preparing(event, secret)
    case .visiting(let visit): visiting(event, visit, &transition)
    case .exchanging(let code, let retrying): exchanging(event, code, retrying, &transition)
    case .completing(let tokens, let retrying): completing(event, tokens, retrying, &transition)
    }
  }
}

// MARK: - The browser

extension FreedomPartnerAuthorize {
  var redirectForm: RedirectForm { .freedom }

  var redirect: Redirect { provider.settings.redirect }

  var listenerErrorCode: ProviderErrorCode? {
    FreedomIDErrorCode.configurationError.providerErrorCode(provider.name)
  }

  func secret(of round: Sealed<Secret>) -> Secret { round.unsealed() }

  mutating func prepare(_ secret: Sealed<Secret>) { state = .preparing(secret) }

  mutating func show(_ secret: Sealed<Secret>, redirectURI: String, _ listener: ListenerState) {
    guard case .visiting(var visit) = state else { return }
    visit.listener = listener
    state = .visiting(visit)
  }

  mutating func opened(
    _ secret: Sealed<Secret>, redirectURI: String, _ listener: ListenerState
  ) -> Answer {
    requestLink(
      FreedomVisit(secret: secret, redirectURI: Sealed(Secret(redirectURI)), listener: listener))
  }

  mutating func renew(
    _ secret: Sealed<Secret>, _ problem: Problem, _ transition: inout TransitionContext
  ) -> Answer { listen(problem, &transition) }

  /// Starts a new round, whose redirect URI has a new secret path.
  mutating func listen(_ problem: Problem?, _ transition: inout TransitionContext) -> Answer {
    start(FreedomVisit.secret(&transition), problem)
  }

  /// Requests a link to the page in the browser. A previous link stays valid until the new one
  /// arrives.
  private mutating func requestLink(
    _ visit: FreedomVisit, after effects: [Effect<FreedomPartnerCall>] = []
  ) -> Answer {
    let asking = visit.asking?.resumed ?? RetryBackoff()
    state = .visiting(copy(visit) { $0.asking = asking })
    return .proceed(effects + [.call(visit.call(grants))])
  }

  private mutating func visiting(
    _ event: Event, _ visit: FreedomVisit, _ transition: inout TransitionContext
  ) -> Answer {
    switch event {
    case .provider(.called(visit.call(grants), let outcome)) where visit.isAwaitingLink:
      return linked(outcome, visit, transition.now)
    case .woken: return visit.isAwaitingLink ? .ignore : requestLinkIfDue(visit, transition.now)
    // Without a link the user cannot have been in the browser, so a new round loses nothing.
    case .daemon(.resumed) where visit.link == nil: return listen(nil, &transition)
    case .input, .browser, .daemon(.resumed):
      guard let link = visit.link else { return .ignore }
      return returning(event, visit, link, &transition)
    case .provider, .daemon: return .ignore
    }
  }

  private mutating func requestLinkIfDue(_ visit: FreedomVisit, _ now: Timestamp) -> Answer {
    guard visit.asking == nil, let link = visit.link, link.endsAt > now else {
      return requestLink(visit)
    }
    return .proceed([.wake(after: link.endsAt - now)])
  }

  private mutating func linked(
    _ outcome: CallOutcome, _ visit: FreedomVisit, _ now: Timestamp
  ) -> Answer {
    switch FreedomIDReply(outcome) {
    case .success(let members):
      guard let text = members["redirect_uri"]?.stringValue else {
        return .fail(
          .unusable("the provider's answer has no redirect_uri", .parsingError, provider.name))
      }
      do throws(UnusableReply) {
        return open(try FreedomLink(text, at: now), visit, now)
      } catch {
        return .fail(.contradiction(error.message, provider.name))
      }
    case .refused(let refusal):
      return .fail(.refused(refusal, as: refusal.clientErrorCode, provider.name))
    case .failed(let fault):
      let asking = visit.asking ?? RetryBackoff()
      let failure = Failure.unreachable(fault, provider.name)
      return retry(asking, failure, after: fault.retryAfter) { flow, backoff in
        flow.state = .visiting(copy(visit) { $0.asking = backoff })
      }
    case .unreadable(let flaw): return .fail(.unusable(flaw, provider.name))
    case .noToken(let message): return .fail(.noToken(message, provider.name))
    }
  }

  private mutating func open(
    _ link: FreedomLink, _ visit: FreedomVisit, _ now: Timestamp
  ) -> Answer {
    // Clears only the problem of a failed request for the link. Any other problem tells why the
    // user is sent to the browser again.
    if visit.asking != RetryBackoff() { problem = nil }
    var visit = visit
    visit.link = link
    visit.asking = nil
    state = .visiting(visit)
    return .proceed([.wake(after: link.endsAt - now)])
  }

  private mutating func returning(
    _ event: Event, _ visit: FreedomVisit, _ link: FreedomLink,
    _ transition: inout TransitionContext
  ) -> Answer {
    let redirectURI = visit.redirectURI.unsealed().revealed()
    let answer = authorizing(event, visit.secret, redirectURI, visit.listener, &transition)
    guard event == .daemon(.resumed), case .proceed(let effects) = answer,
      case .visiting(let visit) = state
    else { return answer }
    guard visit.asking == nil, link.endsAt > transition.now else {
      return requestLink(visit, after: effects)
    }
    return .proceed(effects + [.wake(after: link.endsAt - transition.now)])
  }

  mutating func redirected(
    _ answer: AuthorizationResponse, _ secret: Sealed<Secret>, redirectURI: String,
    _ transition: inout TransitionContext
  ) -> Answer {
    if let error = answer.error { return .fail(.redirected(error, provider.name)) }
    guard let code = answer.code, !code.isEmpty else {
      return .fail(.unusable(Failure.neitherCodeNorError.message, .parsingError, provider.name))
    }
    problem = nil
    state = .exchanging(Transient(nil), RetryBackoff())
    return .proceed([.stopListening, .call(.exchange(code: code))])
  }
}

// MARK: - The code

extension FreedomPartnerAuthorize {
  private mutating func exchanging(
    _ event: Event, _ code: Transient, _ retrying: RetryBackoff,
    _ transition: inout TransitionContext
  ) -> Answer {
    switch event {
    case .provider(.called(.exchange(let code), let outcome)) where !retrying.isPaused:
      return exchanged(outcome, code, retrying, &transition)
    case .woken where retrying.isPaused:
      guard let code = code.secret else { return listen(.interrupted, &transition) }
      state = .exchanging(Transient(nil), retrying.resumed)
      return .proceed([.call(.exchange(code: code))])
    // The provider may have redeemed the code before the restart.
    case .daemon(.resumed): return listen(.interrupted, &transition)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func exchanged(
    _ outcome: CallOutcome, _ code: Secret, _ retrying: RetryBackoff,
    _ transition: inout TransitionContext
  ) -> Answer {
    switch FreedomIDReply(outcome) {
    case .success(let members):
      do throws(UnusableReply) {
        let scope = grants.map(\.text).joined(separator: " ")
        let tokens = try TokenSet(freedomID: members, scope: scope, keepsID: true)
        problem = nil
        return handleTokens(tokens, &transition)
      } catch {
        return .fail(.unusable(error.message, .parsingError, provider.name))
      }
    case .refused(let refusal) where refusal.isPostponed:
      return redeemLater(code, FreedomReplyError(refusal), retrying)
    case .refused(let refusal):
      return .fail(.refused(refusal, as: refusal.clientErrorCode, provider.name))
    case .failed(let fault) where fault.mayHaveTakenEffect && fault.refusal?.isPostponed != true:
      guard countLostRound() else { return .fail(.unreachable(fault, provider.name)) }
      return listen(.unreachable(fault, provider.name), &transition)
    case .failed(let fault): return redeemLater(code, fault, retrying)
    case .unreadable(let flaw): return .fail(.unusable(flaw, provider.name))
    case .noToken(let message): return .fail(.noToken(message, provider.name))
    }
  }

  /// Repeats the redemption of the code after a pause, because the provider has certainly not
  /// redeemed it.
  private mutating func redeemLater(
    _ code: Secret, _ fault: FreedomReplyError, _ retrying: RetryBackoff
  ) -> Answer {
    let failure = Failure.unreachable(fault, provider.name)
    let pause = pause(retrying, failure, after: fault.retryAfter) {
      $0.state = .exchanging(Transient(code), $1)
    }
    guard let pause else { return .fail(failure) }
    if fault.retryAfter != nil { problem?.retryAfterMs = Int(pause.milliseconds) }
    return .proceed([.wake(after: pause)])
  }
}

extension FreedomVisit {
  fileprivate var isAwaitingLink: Bool { asking.map { !$0.isPaused } ?? false }
}
