import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

// Waits for a site's request to sign the user in. With methods `otp` and `totp`, the user first
// types a number at the site, which tells the site who the user is.

extension BSAAuthenticate {
  mutating func generate(_ retrying: RetryBackoff) -> Answer {
    state = .generating(retrying.resumed)
    return .proceed([numberEffect])
  }

  private var numberCall: BSACall {
    .generateNumber(userKey: order.account.subject, device: order.device)
  }

  private var numberEffect: Effect<BSACall> {
    order.way == .totp ? .ask(.oneTimeCode(of: order.account.id)) : .call(numberCall)
  }

  mutating func generating(_ event: Event, _ retrying: RetryBackoff, _ now: Timestamp) -> Answer {
    switch event {
    case .provider(.called(numberCall, let outcome)) where !retrying.isPaused && order.way == .otp:
      return generated(BSAReply(outcome, to: numberCall), retrying, now)
    case .daemon(.answered(.oneTimeCode(let answer)))
    where !retrying.isPaused && order.way == .totp:
      return generated(answer, retrying, now)
    case .woken where retrying.isPaused, .daemon(.resumed): return generate(retrying)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func generated(
    _ reply: BSAReply, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch reply {
    case .success(let data):
      guard let number = data.visibleSecret, number.unsealed().revealed().utf8.count <= 32 else {
        return .fail(.missingMember("number in data"))
      }
      let seconds = provider.settings.otpSeconds ?? Self.shownSeconds
      return poll(Shown(number: number, until: now + .seconds(seconds)))
    case .refused(let refusal): return .fail(.refused(refusal, provider.name))
    case .failed(let fault):
      return retry(retrying, .unreachable(fault), after: fault.retryAfter) {
        $0.state = .generating($1)
      }
    case .unreadable(let message), .noToken(let message): return .fail(.protocolError(message))
    }
  }

  private mutating func generated(
    _ answer: OneTimeCodeAnswer, _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch answer {
    case .code(let number, let until): return poll(Shown(number: Sealed(number), until: until))
    case .later(let time): return wait(until: time, now)
    case .noSecret:
      return .fail(.rejected("the account has no TOTP secret: run reregisterDevice to get one"))
    case .unavailable(let message):
      problem = .noCode(message)
      var retrying = retrying
      guard let pause = retrying.failed() else { return .fail(.rejected(message)) }
      state = .generating(retrying)
      return .proceed([.wake(after: pause)])
    }
  }

  /// Waits for the next time step of TOTP (RFC 6238), because each code is given out only once and
  /// that of the present step was.
  private mutating func wait(until time: Timestamp, _ now: Timestamp) -> Answer {
    var retrying = RetryBackoff()
    _ = retrying.failed()
    state = .generating(retrying)
    problem = .noCode("the code of this time step was already issued: the next one follows")
    return .proceed([.wake(after: max(time - now, .milliseconds(100)))])
  }

  private var existCall: BSACall { .exists(device: order.device, userKey: order.account.subject) }

  mutating func poll(_ shown: Shown?) -> Answer {
    problem = nil
    state = .pending(shown, Poll())
    return .proceed([.call(existCall)])
  }

  mutating func pending(_ event: Event, _ shown: Shown?, _ poll: Poll, _ now: Timestamp) -> Answer {
    switch event {
    case .provider(.called(existCall, let outcome)) where !poll.isPaused:
      return handlePollReply(BSAReply(outcome, to: existCall), shown, poll, now)
    case .woken where poll.isPaused, .daemon(.resumed):
      // The shown number has expired: request another one.
      if let shown, shown.until <= now { return generate(RetryBackoff()) }
      var poll = poll
      poll.isPaused = false
      poll.retrying.endPause()
      state = .pending(shown, poll)
      return .proceed([.call(existCall)])
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func handlePollReply(
    _ reply: BSAReply, _ shown: Shown?, _ poll: Poll, _ now: Timestamp
  ) -> Answer {
    switch reply {
    case .success(let data):
      guard let exists = data.objectValue?["isExist"]?.boolValue else {
        return failRevoking(.missingMember("data.isExist"))
      }
      problem = nil
      guard exists else { return pollLater(shown) }
      guard let site = data.objectValue?["clientKey"]?.visibleSecret else {
        return failRevoking(.missingMember("data.clientKey"))
      }
      let session = BSASignInSession(device: order.device, site: site)
      let place = ProviderText.shown(data.objectValue?["siteURL"]?.stringValue, limit: 100)
      return prove(session, for: place, at: now)
    case .refused(RTCode.nothingInProgress), .refused(RTCode.authInProgress):
      problem = nil
      return pollLater(shown)
    case .refused(let refusal) where refusal.code.isRetryable:
      let fault = BSAReplyError(message: refusal.code.meaning, mayHaveTakenEffect: false)
      return pollLater(shown, poll, fault)
    case .refused(let refusal): return failRevoking(.refused(refusal, provider.name))
    case .failed(let fault): return pollLater(shown, poll, fault)
    case .unreadable(let message), .noToken(let message):
      return failRevoking(.protocolError(message))
    }
  }

  /// Polls again after a failed poll. The polls end only with the flow, because a poll has no side
  /// effect.
  private mutating func pollLater(_ shown: Shown?, _ poll: Poll, _ fault: BSAReplyError) -> Answer {
    var poll = poll
    let pause = poll.retrying.failed() ?? Self.maxPause
    poll.isPaused = true
    state = .pending(shown, poll)
    problem = .unreachable(fault.message)
    return .proceed([.wake(after: RetryBackoff.pause(pause, requested: fault.retryAfter))])
  }

  /// The number of seconds after which another number is shown, unless the settings name another
  /// time. BSA does not say how long a number is valid.
  private static let shownSeconds = 180

  /// The pause between two polls after the provider has been unreachable for all pauses of
  /// ``RetryBackoff``.
  private static let maxPause = Duration.seconds(16)

  private mutating func pollLater(_ shown: Shown?) -> Answer {
    state = .pending(shown, Poll(isPaused: true))
    return .proceed([.wake(after: .seconds(provider.settings.pollSeconds))])
  }

  /// Fails the flow, and makes the calls that invalidate the shown number and cancel the sign-in at
  /// BSA.
  private func failRevoking(_ failure: Failure) -> Answer {
    .fail(failure, cleanUp: callsIfAbandoned)
  }
}

extension Problem {
  /// The problem of a step that cannot show a code yet.
  ///
  /// - Parameter message: A sentence for users.
  fileprivate static func noCode(_ message: String) -> Problem {
    Problem(reason: "no_code_yet", title: "No code yet", message: message)
  }
}
