import UsherAPI
import UsherCore

// The verification is chosen, from Paysafe's list, the caller's request and the customer's choice.
extension SCAProcess {
  mutating func requestStatus(_ notice: Problem?) -> Answer {
    state = .required(RetryBackoff(), notice: notice)
    problem = notice
    return .proceed([.call(.event(terms.event))])
  }

  mutating func required(
    _ event: Event, _ retrying: RetryBackoff, _ notice: Problem?, _ now: Timestamp
  ) -> Answer {
    let call = PaysafeCall.event(terms.event)
    if event.repeatsCall(retrying) {
      state = .required(retrying.resumed, notice: notice)
      return .proceed([.call(call)])
    }
    guard let outcome = event.outcome(of: call, retrying) else { return .ignore }
    switch readStatus(outcome) {
    case .success(let eventStatus): return settled(eventStatus, now) ?? present(notice, now)
    case .refused(let refusal):
      switch refusal.kind {
      case .tooMany(let after):
        return requestStatusLater(refusal.failure.message, after, retrying, notice)
      case .noSuchCall where wasVerified == true:
        return .fail(.rejected("the wallet demands another approval of an event that was verified"))
      case .noSuchCall:
        // Without a list the customer may choose any method. Paysafe refuses those that the event
        // does not offer.
        offers = offers ?? []
        return present(notice, now)
      case .unavailable, .noChallenge, .completed, .expired, .exhausted, .other:
        return .fail(refusal.failure)
      }
    case .failed(let fault):
      return requestStatusLater(fault.message, fault.retryAfter, retrying, notice)
    case .unreadable(let message): return .fail(.protocolError(message))
    case .noToken(let message): return .fail(.loginRequired(message))
    }
  }

  private mutating func requestStatusLater(
    _ message: String, _ after: Duration?, _ retrying: RetryBackoff, _ notice: Problem?
  ) -> Answer {
    retry(retrying, .unreachable(message), after: after) {
      $0.state = .required($1, notice: notice)
    }
  }

  /// Sends a challenge for the requested or the only verification; with several, lets the customer
  /// choose.
  mutating func present(_ notice: Problem?, _ now: Timestamp) -> Answer {
    let options = options
    if let wanted = terms.wanted, let option = options.option(for: wanted) {
      return send(Sending(option: option))
    }
    guard let first = options.first else { return .fail(nothingLeft) }
    // If the requested or tried verification is unavailable, the daemon does not use the only other
    // one without the customer's consent.
    if options.count == 1, terms.wanted == nil, unavailable.isEmpty {
      return send(Sending(option: first))
    }
    return choose(notice ?? terms.wanted.map { _ in .verificationUnavailable(nil) }, now)
  }

  private var nothingLeft: Failure {
    let needReturnURL = (offers ?? []).contains { $0.verification.form == .redirect }
    return .noVerification(wantsReturnURL: needReturnURL && terms.instructions.returnURL == nil)
  }

  mutating func choose(_ problem: Problem?, _ now: Timestamp) -> Answer {
    state = .choosing
    self.problem = problem
    return .proceed(timer(now))
  }

  mutating func choosing(_ event: Event, _ now: Timestamp) -> Answer {
    switch event {
    case .input(.choice(let id)):
      guard let option = options.first(where: { $0.id == id }) else { return .notAnOption }
      return sendUnlessCoolingDown(Sending(option: option), now)
    case .woken: return woken(now)
    case .daemon(.resumed): return .proceed(timer(now))
    case .input, .browser, .provider, .daemon: return .ignore
    }
  }

  /// The options from which the customer can choose: the verifications that the event offers, else
  /// the one that the caller requests, as far as usherd supports them.
  var options: [SCAOption] {
    let wanted = terms.wanted.flatMap { SCAOption(requested: $0) }.map { [$0] } ?? []
    let offered = offers.map { [SCAOption](offered: $0) } ?? []
    // An event that accepts any method accepts the requested one too, as the caller spells it.
    let all = offers?.isEmpty ?? true ? wanted + offered.filter { !wanted.contains($0) } : offered
    return all.filter { option in
      let isPossible = option.form != .redirect || terms.instructions.returnURL != nil
      return isPossible && !unavailable.contains(option.id)
    }
  }
}
