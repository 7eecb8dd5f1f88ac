import JSONRPC
import UsherAPI
import UsherCore

// A challenge is sent to the customer.
extension SCAProcess {
  mutating func sendUnlessCoolingDown(_ sending: Sending, _ now: Timestamp) -> Answer {
    guard let coolDown, coolDown.until > now else { return send(sending) }
    problem = .rateLimited(coolDown.word, for: coolDown.until - now)
    return .proceed([])
  }

  mutating func send(_ sending: Sending) -> Answer {
    problem = nil
    return send(sending, RetryBackoff())
  }

  /// Sends the challenge.
  ///
  /// - Parameter retrying: The failed attempts to send this challenge. Their problem stays visible
  ///   until a reply arrives.
  mutating func send(_ sending: Sending, _ retrying: RetryBackoff) -> Answer {
    state = .challenging(sending, retrying.resumed)
    let option = sending.option
    return .proceed([.call(.challenge(terms.event, option.verification, instructions(option)))])
  }

  /// Returns the action of a challenge. The `returnUrl` is omitted unless the verification needs
  /// it, because Paysafe may refuse it.
  private func instructions(_ option: SCAOption) -> PaysafeCall.Instructions {
    var instructions = terms.instructions
    if option.form != .redirect { instructions.returnURL = nil }
    return instructions
  }

  mutating func challenging(
    _ event: Event, _ sending: Sending, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch event {
    case .provider(.called(.challenge(terms.event, sending.option.verification, _), let outcome))
    where !retrying.isPaused:
      return answered(outcome, sending, retrying, now)
    case .woken where !retrying.isPaused: return .ignore
    case .woken: return send(sending, retrying)
    // During a pause before the next attempt no call is in progress, so sending repeats nothing.
    case .daemon(.resumed) where retrying.isPaused: return send(sending, retrying)
    // The challenge may have been sent.
    case .daemon(.resumed): return inquire(.challenge(sending))
    case .input, .browser, .provider, .daemon: return .ignore
    }
  }

  private mutating func answered(
    _ outcome: CallOutcome, _ sending: Sending, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch SCAReply(outcome, about: terms.event, from: terms.provider, ChallengeReply.init) {
    case .success(let reply):
      counters.merge(reply.counters)
      return open(sending.option, reply.details, problem: nil, now)
    case .refused(let refusal): return refused(refusal, sending, now)
    case .failed(let fault) where fault.mayHaveTakenEffect:
      return lost(sending, retrying, .unreachable(fault.message), fault.retryAfter, now)
    case .unreadable(let message): return lost(sending, retrying, .protocolError(message), nil, now)
    case .failed(let fault):
      let failure = Failure.unreachable(fault.message)
      let pause = pause(retrying, failure) { $0.state = .challenging(sending, $1) }
      return pause.map { .proceed([.wake(after: $0)]) }
        ?? revertToPrevious(of: sending, failure, now)
    case .noToken(let message): return .fail(.loginRequired(message))
    }
  }

  /// Schedules a request for the event's status after a lost reply, because the challenge may have
  /// been sent.
  ///
  /// - Parameter failure: The failure of the flow if no further attempt is allowed.
  private mutating func lost(
    _ sending: Sending, _ retrying: RetryBackoff, _ failure: Failure, _ after: Duration?,
    _ now: Timestamp
  ) -> Answer {
    let pause = pause(retrying, failure, after: after) {
      $0.state = .inquiring(.challenge(sending), $1)
    }
    return pause.map { .proceed([.wake(after: $0)]) } ?? perhapsSent(sending, failure, now)
  }

  private mutating func refused(
    _ refusal: SCARefusal, _ sending: Sending, _ now: Timestamp
  ) -> Answer {
    switch refusal.kind {
    case .unavailable:
      unavailable.append(sending.option.id)
      return returnToPrevious(
        from: sending, .verificationUnavailable(refusal.errorCode), refusal.failure, now)
    case .tooMany(let after):
      let pause = after ?? Self.defaultCoolDown
      coolDown = CoolDown(until: now + pause, word: refusal.errorCode)
      return returnToPrevious(
        from: sending, .rateLimited(refusal.errorCode, for: pause), refusal.failure, now)
    case .completed: return inquire(.completion)
    case .noChallenge, .noSuchCall, .other:
      return revertToPrevious(of: sending, refusal.failure, now)
    case .expired, .exhausted: return .fail(refusal.failure)
    }
  }

  /// Returns to the challenge that this one was to replace. Its code may still be valid and known
  /// to the customer.
  ///
  /// - Parameter failure: The failure of the flow if there is no previous challenge.
  mutating func revertToPrevious(of sending: Sending, _ failure: Failure, _ now: Timestamp)
    -> Answer
  {
    showPrevious(of: sending, .notSentAgain(failure), now) ?? .fail(failure)
  }

  /// Shows the challenge that this one was to replace; nil if there is none.
  private mutating func showPrevious(
    of sending: Sending, _ problem: Problem, _ now: Timestamp
  ) -> Answer? {
    if let previous = sending.previous { return show(previous, problem, now) }
    return sending.previousWatch.map { watch($0, problem, now) }
  }

  /// Continues without knowing whether the challenge was sent. The daemon does not send it again,
  /// because each challenge may send a message to the customer.
  ///
  /// - Parameter failure: Why the outcome is unknown.
  mutating func perhapsSent(_ sending: Sending, _ failure: Failure, _ now: Timestamp) -> Answer {
    guard let message = sending.option.form.message else {
      return revertToPrevious(of: sending, failure, now)
    }
    let problem = Problem.mayHaveBeenSent(message)
    if let previous = sending.previous {
      return show(previous.reopened(for: sending.option, at: now), problem, now)
    }
    return showPrevious(of: sending, problem, now) ?? openUnseen(sending.option, problem, now)
  }

  /// Waits for the answer to a challenge of which the flow has seen no reply.
  mutating func openUnseen(
    _ option: SCAOption, _ problem: Problem?, _ now: Timestamp
  ) -> Answer {
    switch option.form {
    case .code(let channel):
      let input = Challenge.Input.code(channel, digits: nil)
      return show(Challenge(option: option, input: input, sentAt: now), problem, now)
    case .secret(let purpose):
      let challenge = Challenge(option: option, input: .secret(purpose), sentAt: now)
      return show(challenge, problem, now)
    // Without the reply the page of a redirect is unknown, but the event may be answered elsewhere.
    case .push, .redirect:
      let sent = Watch.Sent(option: option, at: now)
      return watch(Watch(place: .device, sent: sent, expiresAt: nil), problem, now)
    }
  }

  /// How long no other challenge can be requested, if Paysafe does not say so.
  private static let defaultCoolDown = Duration.seconds(60)

  /// Goes back to the previous challenge, or to the choice of a verification.
  ///
  /// - Parameter failure: The failure of the flow if there is nothing to go back to.
  private mutating func returnToPrevious(
    from sending: Sending, _ problem: Problem, _ failure: Failure, _ now: Timestamp
  ) -> Answer {
    if let answer = showPrevious(of: sending, problem, now) { return answer }
    if !options.isEmpty { return choose(problem, now) }
    // The caller named this verification, so the daemon has not asked yet for the others.
    return offers == nil ? requestStatus(problem) : .fail(failure)
  }
}

// A challenge was sent, and the customer has to answer it.
extension SCAProcess {
  mutating func show(_ challenge: Challenge, _ problem: Problem?, _ now: Timestamp) -> Answer {
    state = .challenged(challenge)
    self.problem = problem
    return .proceed(timer(now))
  }

  /// Shows a challenge that was sent: the customer types the answer, or the daemon polls for the
  /// confirmation on another device or page.
  mutating func open(
    _ option: SCAOption, _ details: SCAChallengeDetails, problem: Problem?, _ now: Timestamp
  ) -> Answer {
    coolDown = nil
    let option = copy(option) { $0.target = details.target ?? $0.target }
    let expiresAt = details.expiresAt.after(now)
    func challenge(_ input: Challenge.Input) -> Challenge {
      Challenge(option: option, input: input, sentAt: now, expiresAt: expiresAt)
    }
    switch option.form {
    case .code(let channel):
      return show(challenge(.code(channel, digits: details.digits)), problem, now)
    case .secret(let purpose): return show(challenge(.secret(purpose)), problem, now)
    case .push:
      let sent = Watch.Sent(option: option, at: now)
      return watch(Watch(place: .device, sent: sent, expiresAt: expiresAt), problem, now)
    case .redirect:
      guard let url = details.page, let returnURL = terms.instructions.returnURL else {
        return .fail(
          .protocolError("the provider names no page that may be opened to approve this"))
      }
      let place = Watch.Place.page(url: url, returnURL: returnURL)
      let sent = Watch.Sent(option: option, at: now)
      return watch(Watch(place: place, sent: sent, expiresAt: expiresAt), problem, now)
    }
  }
}

private struct ChallengeReply: Sendable, Equatable {
  let details: SCAChallengeDetails
  let counters: SCACounters

  init(_ members: [String: JSONValue]) {
    details = SCAChallengeDetails(members)
    counters = SCACounters(members)
  }
}
