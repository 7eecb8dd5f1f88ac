import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

// The part of the sign-in from a site's request to the token.

extension BSAAuthenticate {
  /// Checks first that the account still exists: a forgotten account must not be signed in.
  mutating func check(_ visit: BSAVisit) -> Answer<BSACall> {
    state = .checking(visit)
    return .proceed([.ask(.presence(of: order.account.id))])
  }

  mutating func checking(_ event: FlowEvent<BSACall>, _ visit: BSAVisit) -> Answer<BSACall> {
    switch event {
    case .daemon(.told(.presence(true))): return start(visit, Attempt())
    case .daemon(.told(.presence(false))):
      let failure = Failure(
        reason: .denied, title: "No longer available",
        message: "the account was forgotten in the meantime",
        retryable: false)
      return .fail(failure, clearUp: abandoned)
    case .daemon(.resumed): return check(visit)
    case .input, .browser, .provider, .daemon, .woken:
      return .ignore
    }
  }

  mutating func start(_ visit: BSAVisit, _ attempt: Attempt) -> Answer<BSACall> {
    state = .starting(visit, attempt.goingOn)
    return .proceed([.call(.start(visit, userKey: order.account.subject))])
  }

  mutating func starting(
    _ event: FlowEvent<BSACall>, _ visit: BSAVisit, _ attempt: Attempt
  ) -> Answer<BSACall> {
    switch event {
    case .provider(.called(.start(visit, userKey: order.account.subject), let outcome))
    where !attempt.isPaused:
      switch BSAReply(outcome) {
      case .said(let data):
        guard let channel = data.objectValue?["channelKey"]?.visibleSecret else {
          return .fail(.lacking("data.channelKey"), clearUp: [.cancel(visit)])
        }
        problem = nil
        waits = 0
        return complete(visit, channel, Attempt())
      case .refused(let code) where code.isAboutQR && order.way == .qr && !order.hasQRID:
        state = .scan
        problem = .qrInvalid(code, provider.name)
        return .proceed([])
      case let reply: return later(reply, attempt, visit) { .starting(visit, $0) }
      }
    case .woken where attempt.isPaused, .daemon(.resumed): return start(visit, attempt)
    case .input, .browser, .provider, .daemon, .woken:
      return .ignore
    }
  }

  private func completeCall(_ visit: BSAVisit) -> BSACall {
    .complete(visit, isProved: order.authType.localAuthType != nil)
  }

  private mutating func complete(
    _ visit: BSAVisit, _ channel: Sealed<Secret>, _ attempt: Attempt
  ) -> Answer<BSACall> {
    state = .completing(visit, channel: channel, attempt.goingOn)
    return .proceed([.call(completeCall(visit))])
  }

  mutating func completing(
    _ event: FlowEvent<BSACall>, _ visit: BSAVisit, _ channel: Sealed<Secret>, _ attempt: Attempt
  ) -> Answer<BSACall> {
    switch event {
    case .provider(.called(completeCall(visit), let outcome)) where !attempt.isPaused:
      switch BSAReply(outcome) {
      case .said: return fetch(visit, channel, Attempt())
      // The reply to an earlier call was lost: that call completed the sign-in.
      case .refused(.nothingInProgress) where attempt.isLost:
        return fetch(visit, channel, Attempt())
      case let reply:
        return later(reply, attempt, visit) { .completing(visit, channel: channel, $0) }
      }
    case .woken where attempt.isPaused: return complete(visit, channel, attempt)
    case .daemon(.resumed):
      var attempt = attempt
      attempt.isLost = attempt.isLost || !attempt.isPaused
      return complete(visit, channel, attempt)
    case .input, .browser, .provider, .daemon, .woken:
      return .ignore
    }
  }

  private func resultCall(_ visit: BSAVisit, _ channel: Sealed<Secret>) -> BSACall {
    .result(visit, channel: channel.unsealed())
  }

  private mutating func fetch(
    _ visit: BSAVisit, _ channel: Sealed<Secret>, _ attempt: Attempt
  ) -> Answer<BSACall> {
    problem = nil
    state = .fetching(visit, channel: channel, attempt.goingOn)
    return .proceed([.call(resultCall(visit, channel))])
  }

  mutating func fetching(
    _ event: FlowEvent<BSACall>, _ visit: BSAVisit, _ channel: Sealed<Secret>, _ attempt: Attempt
  ) -> Answer<BSACall> {
    switch event {
    case .provider(.called(resultCall(visit, channel), let outcome)) where !attempt.isPaused:
      switch BSAReply(outcome) {
      case .said(let data):
        guard let token = data.visibleSecret else { return .fail(.lacking("token in data")) }
        return .finish(completion(token))
      case let reply:
        return later(reply, attempt, visit) { .fetching(visit, channel: channel, $0) }
      }
    case .woken where attempt.isPaused, .daemon(.resumed): return fetch(visit, channel, attempt)
    case .input, .browser, .provider, .daemon, .woken:
      return .ignore
    }
  }

  /// Handles any reply other than success, for each of the three calls.
  private mutating func later(
    _ reply: BSAReply, _ attempt: Attempt, _ visit: BSAVisit, _ state: (Attempt) -> State
  ) -> Answer<BSACall> {
    var attempt = attempt
    switch reply {
    case .refused(.authInProgress) where waits < Self.waitLimit,
      .refused(.nothingInProgress) where waits < Self.waitLimit:
      waits += 1
      problem = nil
      attempt.isWaiting = true
      self.state = state(attempt)
      return .proceed([.wake(after: .seconds(provider.settings.pollSeconds))])
    case .said: return .ignore
    case .refused(let code):
      return .fail(
        .refused(code, provider.name), clearUp: code.endsVisit ? [] : [.cancel(visit)])
    case .failed(let fault):
      guard let pause = attempt.retrying.failed() else {
        return .fail(.unreachable(fault), clearUp: [.cancel(visit)])
      }
      attempt.isLost = attempt.isLost || fault.mayBeDone
      self.state = state(attempt)
      problem = .unreachable(fault.message)
      return .proceed([.wake(after: RetryBackoff.pause(pause, asked: fault.retryAfter))])
    case .unreadable(let message): return .fail(.protocolError(message), clearUp: [.cancel(visit)])
    }
  }

  private func completion(_ token: Sealed<Secret>) -> Completion {
    var grant = AccountGrant(
      subject: order.account.subject, label: order.account.subject,
      tokens: TokenSet(accessToken: token, tokenType: "raw", expiresAt: nil, scope: ""))
    // The device may have been registered again since the flow began.
    grant.isPartial = true
    // An account that was forgotten meanwhile must not be created again.
    grant.reliance = .init(account: order.account.id, consents: [])
    return Completion(grant: grant)
  }
}

extension BSAAuthenticate.Attempt {
  /// The attempt without its pauses: a call is in progress.
  fileprivate var goingOn: Self {
    var attempt = self
    attempt.retrying.goOn()
    attempt.isWaiting = false
    return attempt
  }
}

extension RTCode {
  fileprivate var isAboutQR: Bool { self == .qrInvalid || self == .qrOtherApp }

  /// Whether the code means that the sign-in has ended, so that there is nothing to cancel.
  fileprivate var endsVisit: Bool {
    [.certificateTimeout, .authTimeout, .authCancelled, .requestCancelled].contains(self)
  }
}

extension Problem {
  fileprivate static func qrInvalid(_ code: RTCode, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "qr_invalid", title: "Not a code of this provider", message: code.meaning,
      provider: code.word(provider))
  }
}
