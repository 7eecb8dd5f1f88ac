import UsherAPI
import UsherConfig
import UsherCore

// The auth code is redeemed, by the app, the partner's backend or the daemon.
extension VerifyIdentity {
  mutating func exchange(
    _ code: Secret, after effects: [Effect<GoPayCall>] = [], _ transition: inout TransitionContext
  ) -> Answer {
    let exchange = CodeExchange(code, order, provider.settings, &transition)
    state = .waitAck(exchange)
    problem = nil
    return .proceed(effects + exchange.effects(order, at: transition.now))
  }

  mutating func waitAck(
    _ event: Event, _ exchange: CodeExchange, _ transition: inout TransitionContext
  ) -> Answer {
    let isOver = transition.now >= exchange.deadline
    switch event {
    case .provider(.called(let call, let outcome))
    where call == exchange.call(order) && !exchange.retrying.isPaused:
      if isOver {
        let undoing = Self.cleanUp(call, outcome)
        return .fail(.exchangeTimedOut(provider.name), cleanUp: undoing)
      }
      return answered(GoPayReply(outcome, to: call), exchange, &transition)
    case .input(let input) where exchange.way == .app:
      if isOver { return .fail(.exchangeTimedOut(provider.name)) }
      return answered(input, exchange, &transition)
    case .woken where isOver, .daemon(.resumed) where isOver:
      return .fail(.exchangeTimedOut(provider.name))
    case .woken where !exchange.retrying.isPaused:
      return .proceed([.wake(after: exchange.deadline - transition.now)])
    case .woken, .daemon(.resumed):
      state = .waitAck(copy(exchange) { $0.retrying.endPause() })
      return .proceed(exchange.effects(order, at: transition.now))
    case .input, .browser, .provider, .daemon: return .ignore
    }
  }

  /// Handles the report of the app, which redeems the code.
  private mutating func answered(
    _ input: FlowInput, _ exchange: CodeExchange, _ transition: inout TransitionContext
  ) -> Answer {
    switch input {
    case .exchanged(let fields):
      do throws(InvalidExchangeReport) {
        return acknowledge(try GoPayExchanged(fields), exchange, &transition)
      } catch {
        return .refuse(field: error.field, message: error.message)
      }
    case .exchangeFailed(let reason): return .fail(.exchangeFailed(reason, provider.name))
    case .back: return .codeIsHandedOver
    case .redirect, .code, .resend, .password, .alternative, .confirmed, .choice, .form, .granted,
      .denied,
      .passcode, .biometric, .cancelLocalAuth, .fallback:
      return .ignore
    }
  }

  /// Handles the reply of the partner's backend or of SNAP to the call that redeems the code.
  private mutating func answered(
    _ reply: GoPayReply, _ exchange: CodeExchange, _ transition: inout TransitionContext
  ) -> Answer {
    switch reply {
    case .success(let data):
      do throws(UnusableReply) {
        guard case .snap = exchange.way else {
          return acknowledge(try data.exchanged(), exchange, &transition)
        }
        let link = LinkingToken.token(Sealed(try data.linkingToken()))
        return capture(.link(link), isBound: true, &transition)
      } catch {
        return .fail(.unusable(gopay: error.message, provider.name))
      }
    case .refused(let refusal) where refusal.isConflict: return lost(refusal, &transition)
    case .refused(let refusal): return .fail(refusal.failure(provider.name))
    // The call is repeated with the same id, so that the code is not redeemed twice.
    case .failed(let fault):
      let failure = fault.failure(provider.name)
      let rest = exchange.deadline - transition.now
      let pause = pause(exchange.retrying, failure, after: fault.retryAfter) { flow, backoff in
        flow.state = .waitAck(copy(exchange) { $0.retrying = backoff })
      }
      return pause.map { .proceed([.wake(after: min($0, rest))]) } ?? .fail(failure)
    case .unreadable(let message), .noToken(let message):
      return .fail(.unusable(gopay: message, provider.name))
    }
  }

  private mutating func acknowledge(
    _ exchanged: GoPayExchanged, _ exchange: CodeExchange, _ transition: inout TransitionContext
  ) -> Answer {
    let id = exchanged.correlationID
    guard !id.isBlank, id.isSendable else { return .fail(.exchangedForNobody(provider.name)) }
    // Compares bytes: Swift's `==` treats canonically equivalent strings as equal.
    if let known = order.exchangedID, Secret(known) != Secret(id) {
      return .fail(.otherCorrelation(provider.name))
    }
    let link = exchanged.token.map { LinkingToken.token(Sealed($0)) } ?? order.link
    return capture(
      link.map { .link($0) } ?? .login(code: exchange.code), exchangedID: id, &transition)
  }

  /// Gets another auth code, because this one may be spent.
  private mutating func lost(
    _ refusal: GoPayRefusal, _ transition: inout TransitionContext
  ) -> Answer {
    let problem = Problem.codeMayBeSpent(refusal, provider.name)
    guard countLostRound() else {
      let errorCode = GoPayErrorCode.connection.providerErrorCode(
        provider.name, code: refusal.code, message: refusal.message)
      return .fail(.gopay(.connection, problem.message, provider.name, errorCode: errorCode))
    }
    return requestAuthCode(&transition, problem: problem)
  }
}
