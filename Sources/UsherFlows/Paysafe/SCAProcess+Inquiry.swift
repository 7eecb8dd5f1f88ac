import UsherAPI
import UsherCore

// The daemon asks Paysafe for the event's status after a lost reply or a restart.
extension SCAProcess {
  mutating func inquire(_ unknown: UnknownOutcome) -> Answer {
    problem = nil
    return inquire(unknown, RetryBackoff())
  }

  private mutating func inquire(_ unknown: UnknownOutcome, _ retrying: RetryBackoff) -> Answer {
    state = .inquiring(unknown, retrying.resumed)
    return .proceed([.call(.event(terms.event))])
  }

  mutating func inquiring(
    _ event: Event, _ unknown: UnknownOutcome, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    if event.repeatsCall(retrying) { return inquire(unknown, retrying) }
    return event.outcome(of: .event(terms.event), retrying)
      .map { answered($0, unknown, retrying, now) } ?? .ignore
  }

  private mutating func answered(
    _ outcome: CallOutcome, _ unknown: UnknownOutcome, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch readStatus(outcome) {
    case .success(let eventStatus):
      let before = counters
      return settled(eventStatus, now) ?? resolved(unknown, eventStatus, before, retrying, now)
    case .refused(let refusal): return refused(refusal, unknown, retrying, now)
    case .failed(let fault):
      return inquireLater(unknown, retrying, .unreachable(fault.message), fault.retryAfter, now)
    case .unreadable(let message):
      return inquireLater(unknown, retrying, .protocolError(message), nil, now)
    case .noToken(let message): return .fail(annotated(.loginRequired(message), unknown))
    }
  }

  private mutating func refused(
    _ refusal: SCARefusal, _ unknown: UnknownOutcome, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch refusal.kind {
    case .tooMany(let after):
      return inquireLater(unknown, retrying, .unreachable(refusal.failure.message), after, now)
    case .expired, .exhausted: return .fail(refusal.failure)
    case .noSuchCall: return continueBlindly(unknown, refusal.failure, now)
    case .unavailable, .noChallenge, .completed, .other:
      return giveUp(unknown, refusal.failure, now)
    }
  }

  /// Continues at a server without a call for the status: the customer decides what happens next.
  private mutating func continueBlindly(
    _ unknown: UnknownOutcome, _ failure: Failure, _ now: Timestamp
  ) -> Answer {
    switch unknown {
    case .challenge(let sending):
      // A challenge that sends no message can be requested again.
      guard sending.option.form.message == nil, sending.isRepeated != true else {
        return perhapsSent(sending, failure, now)
      }
      return send(copy(sending) { $0.isRepeated = true })
    case .attempt(let challenge):
      state = .challenged(challenge)
      return .finish(.answered)
    case .completion: return .finish(.answered)
    }
  }

  /// Ends the inquiry, because Paysafe does not tell the status. An earlier challenge stays valid.
  private mutating func giveUp(
    _ unknown: UnknownOutcome, _ failure: Failure, _ now: Timestamp
  ) -> Answer {
    guard case .challenge(let sending) = unknown else { return .fail(failure) }
    return perhapsSent(sending, failure, now)
  }

  /// Returns the failure, with a note about a message that may have been sent to the customer.
  private func annotated(_ failure: Failure, _ unknown: UnknownOutcome) -> Failure {
    guard case .challenge(let sending) = unknown, let message = sending.option.form.message else {
      return failure
    }
    return failure.perhapsSent(message)
  }

  /// Schedules another request for the event's status.
  ///
  /// - Parameter failure: The failure of the flow if no further attempt is allowed.
  private mutating func inquireLater(
    _ unknown: UnknownOutcome, _ retrying: RetryBackoff, _ failure: Failure, _ after: Duration?,
    _ now: Timestamp
  ) -> Answer {
    let pause = pause(retrying, failure, after: after) { $0.state = .inquiring(unknown, $1) }
    return pause.map { .proceed([.wake(after: $0)]) } ?? giveUp(unknown, failure, now)
  }

  /// Decides how to continue if the status shows that the event is still open.
  private mutating func resolved(
    _ unknown: UnknownOutcome, _ eventStatus: SCAEventStatus, _ before: SCACounters,
    _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch unknown {
    case .challenge(let sending):
      if let details = eventStatus.challenge,
        sending.wasSent(as: details, eventStatus.counters, before)
      {
        return open(sending.option, details, problem: nil, now)
      }
      // The end of a cool-down resets the counter, so the old one says nothing (provider contract
      // §2.5).
      guard sending.mayBeRepeated(eventStatus.counters, coolDown == nil ? before : nil) else {
        let message = "the provider's answer was lost, and the event does not show what was sent"
        return perhapsSent(sending, .unreachable(message), now)
      }
      return send(copy(sending) { $0.isRepeated = true }, retrying)
    case .attempt(let challenge): return show(challenge, .answerLost, now)
    case .completion:
      let message = "the provider reports both that the event is settled and that it is not"
      return inquireLater(unknown, retrying, .protocolError(message), nil, now)
    }
  }
}

extension SCAProcess.Sending {
  /// Returns whether the event's open challenge is the one that was being sent when the reply was
  /// lost.
  ///
  /// A new challenge may or may not increase the counter (provider contract §2.5), so a later
  /// expiry counts as a sign too.
  fileprivate func wasSent(
    as details: SCAChallengeDetails, _ counters: SCACounters, _ before: SCACounters
  ) -> Bool {
    guard details.form == nil || details.form == option.form,
      details.page != nil || option.form != .redirect
    else { return false }
    guard let replaced, replaced.form == option.form else { return true }
    if let count = counters.currentChallenges, let earlier = before.currentChallenges,
      count > earlier
    {
      return true
    }
    if let expiry = details.expiresAt, let earlier = replaced.expiresAt { return expiry > earlier }
    return false
  }

  /// The form and the expiry of the challenge that this one replaces; nil if it replaces none.
  private var replaced: (form: SCAForm, expiresAt: Timestamp?)? {
    previous.map { ($0.option.form, $0.expiresAt) }
      ?? previousWatch.flatMap { watch in watch.sent.map { ($0.option.form, watch.expiresAt) } }
  }

  /// Returns whether to send the challenge again after its reply was lost. This is safe if the
  /// challenge sends no message, or if Paysafe's counter shows that it was not sent.
  ///
  /// - Parameter before: The counters before the challenge was sent; nil if Paysafe has reset them
  ///   since.
  fileprivate func mayBeRepeated(_ counters: SCACounters, _ before: SCACounters?) -> Bool {
    guard option.form.message != nil else { return true }
    guard isRepeated != true, let before, let count = counters.currentChallenges else {
      return false
    }
    // If the counter before is not known, it was 0, provided that the event had no challenge yet.
    return count == before.currentChallenges ?? (replaced == nil ? 0 : -1)
  }
}

// The customer answers the challenge on another device or page, and the daemon polls for the
// outcome.
extension SCAProcess {
  mutating func watch(_ watch: Watch, _ problem: Problem?, _ now: Timestamp) -> Answer {
    state = .watching(copy(watch) { $0.isAsking = false })
    self.problem = problem
    return watch.isBlind == true
      ? .proceed(timer(now)) : .proceed([.wake(after: .seconds(terms.pollSeconds))])
  }

  mutating func watching(_ event: Event, _ watch: Watch, _ now: Timestamp) -> Answer {
    switch event {
    case .input(.redirect(let url)): return handleRedirect(url, watch)
    case .input(.confirmed) where watch.isBlind == true: return .finish(.answered)
    case .input(.resend):
      guard let option = watch.sent?.option else { return .ignore }
      return sendInstead(of: watch, option, now)
    case .input(.alternative(let id, _)):
      guard let option = alternatives(to: watch).first(where: { $0.id == id }) else {
        return .notAnAlternative
      }
      return sendInstead(of: watch, option, now)
    case .woken where watch.isBlind == true, .daemon(.resumed) where watch.isBlind == true:
      return isOver(watch, now) ?? woken(now)
    case .woken where !watch.isAsking: return pollStatus(watch)
    // The reply to a poll may have been lost by the restart. A poll is safe to repeat.
    case .daemon(.resumed): return pollStatus(watch)
    case .provider(.called(.event(terms.event), let outcome)) where watch.isAsking:
      return answered(outcome, watch, now)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func pollStatus(_ watch: Watch) -> Answer {
    state = .watching(copy(watch) { $0.isAsking = true })
    return .proceed([.call(.event(terms.event))])
  }

  /// Handles the redirect from Paysafe's page. Its contents prove nothing, so it only triggers a
  /// poll.
  private mutating func handleRedirect(_ url: Secret, _ watch: Watch) -> Answer {
    guard case .page(_, let returnURL) = watch.place else { return .ignore }
    guard url.isReturn(to: returnURL) else { return .notAReturn(to: returnURL) }
    if watch.isBlind == true { return .finish(.answered) }
    problem = nil
    return watch.isAsking ? .proceed([]) : pollStatus(watch)
  }

  private mutating func sendInstead(
    of watch: Watch, _ option: SCAOption, _ now: Timestamp
  ) -> Answer {
    let previous = copy(watch) { $0.isAsking = false }
    return sendUnlessCoolingDown(Sending(option: option, previousWatch: previous), now)
  }

  private mutating func answered(
    _ outcome: CallOutcome, _ watch: Watch, _ now: Timestamp
  ) -> Answer {
    switch readStatus(outcome) {
    case .success(let eventStatus): return settled(eventStatus, now) ?? stillOpen(watch, now)
    case .refused(let refusal):
      switch refusal.kind {
      case .tooMany(let after): return pollLater(watch, refusal.failure.message, after)
      case .noSuchCall: return self.watch(copy(watch) { $0.isBlind = true }, problem, now)
      case .unavailable, .noChallenge, .completed, .expired, .exhausted, .other:
        return .fail(refusal.failure)
      }
    case .failed(let fault): return pollLater(watch, fault.message, fault.retryAfter)
    case .unreadable(let message): return .fail(.protocolError(message))
    case .noToken(let message): return .fail(.loginRequired(message))
    }
  }

  private mutating func stillOpen(_ watch: Watch, _ now: Timestamp) -> Answer {
    isOver(watch, now) ?? self.watch(copy(watch) { $0.misses = 0 }, nil, now)
  }

  /// Ends the wait for a confirmation if the event or the challenge has expired; nil otherwise.
  private mutating func isOver(_ watch: Watch, _ now: Timestamp) -> Answer? {
    if isExpired(now) { return .fail(.eventExpired(nil)) }
    guard let expiry = watch.expiresAt, expiry <= now else { return nil }
    return choose(.challengeExpired, now)
  }

  /// Schedules the next poll after a failed one, with a longer pause. The customer may be
  /// confirming while Paysafe is unreachable, so the daemon polls until the event expires.
  private mutating func pollLater(_ watch: Watch, _ message: String, _ after: Duration?) -> Answer {
    var watch = watch
    watch.isAsking = false
    watch.misses += 1
    state = .watching(watch)
    problem = .unreachable(message)
    let pause = Duration.seconds(min(terms.pollSeconds << min(watch.misses, 6), 60))
    return .proceed([.wake(after: RetryBackoff.pause(pause, requested: after))])
  }
}

// The customer has answered, and the server has no call for the event's status.
extension SCAProcess {
  /// Whether the process waits for a code or password.
  var isChallenged: Bool { if case .challenged = state { true } else { false } }

  /// Continues after ``Outcome/answered``, because the event is not known to be verified.
  mutating func unconfirmed(_ now: Timestamp) -> Answer {
    switch state {
    case .watching(let watch): isOver(watch, now) ?? self.watch(watch, .notConfirmed, now)
    case .challenged(let challenge): show(challenge, .answerLost, now)
    case .required, .choosing, .challenging, .attempting, .inquiring:
      .fail(.rejected("the provider says that the event is settled, but not how"))
    }
  }
}
