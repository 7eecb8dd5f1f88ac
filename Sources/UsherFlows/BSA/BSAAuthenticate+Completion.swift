import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

// The part of the sign-in from a site's request to the token.

extension BSAAuthenticate {
  /// Checks first that the account still exists: a forgotten account must not be signed in.
  mutating func check(_ session: BSASignInSession) -> Answer<BSACall> {
    state = .checking(session)
    return .proceed([.ask(.presence(of: order.account.id))])
  }

  mutating func checking(_ event: FlowEvent<BSACall>, _ session: BSASignInSession) -> Answer<
    BSACall
  > {
    switch event {
    case .daemon(.answered(.presence(true))): return start(session, Attempt())
    case .daemon(.answered(.presence(false))):
      let failure = Failure(
        reason: .denied, title: "No longer available",
        message: "the account was forgotten in the meantime",
        retryable: false)
      return .fail(failure, cleanUp: callsIfAbandoned)
    case .daemon(.resumed): return check(session)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  mutating func start(_ session: BSASignInSession, _ attempt: Attempt) -> Answer<BSACall> {
    state = .starting(session, attempt.withoutPauses)
    return .proceed([.call(.start(session, userKey: order.account.subject))])
  }

  mutating func starting(
    _ event: FlowEvent<BSACall>, _ session: BSASignInSession, _ attempt: Attempt
  ) -> Answer<BSACall> {
    switch event {
    case .provider(.called(.start(session, userKey: order.account.subject), let outcome))
    where !attempt.isPaused:
      switch BSAReply(outcome) {
      case .success(let data):
        guard let channel = data.objectValue?["channelKey"]?.visibleSecret else {
          return .fail(.missingMember("data.channelKey"), cleanUp: [.cancel(session)])
        }
        problem = nil
        waits = 0
        return complete(session, channel, Attempt())
      case .refused(let code) where code.isAboutQR && order.way == .qr && !order.hasQRID:
        state = .scan
        problem = .qrInvalid(code, provider.name)
        return .proceed([])
      case let reply: return retryOrFail(reply, attempt, session) { .starting(session, $0) }
      }
    case .woken where attempt.isPaused, .daemon(.resumed): return start(session, attempt)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private func completeCall(_ session: BSASignInSession) -> BSACall {
    .complete(session, isProved: order.authType.localAuthType != nil)
  }

  private mutating func complete(
    _ session: BSASignInSession, _ channel: Sealed<Secret>, _ attempt: Attempt
  ) -> Answer<BSACall> {
    state = .completing(session, channel: channel, attempt.withoutPauses)
    return .proceed([.call(completeCall(session))])
  }

  mutating func completing(
    _ event: FlowEvent<BSACall>, _ session: BSASignInSession, _ channel: Sealed<Secret>,
    _ attempt: Attempt
  ) -> Answer<BSACall> {
    switch event {
    case .provider(.called(completeCall(session), let outcome)) where !attempt.isPaused:
      switch BSAReply(outcome) {
      case .success: return fetch(session, channel, Attempt())
      // The reply to an earlier call was lost: that call completed the sign-in.
      case .refused(.nothingInProgress) where attempt.isLost:
        return fetch(session, channel, Attempt())
      case let reply:
        return retryOrFail(reply, attempt, session) { .completing(session, channel: channel, $0) }
      }
    case .woken where attempt.isPaused: return complete(session, channel, attempt)
    case .daemon(.resumed):
      var attempt = attempt
      attempt.isLost = attempt.isLost || !attempt.isPaused
      return complete(session, channel, attempt)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private func resultCall(_ session: BSASignInSession, _ channel: Sealed<Secret>) -> BSACall {
    .result(session, channel: channel.unsealed())
  }

  private mutating func fetch(
    _ session: BSASignInSession, _ channel: Sealed<Secret>, _ attempt: Attempt
  ) -> Answer<BSACall> {
    problem = nil
    state = .fetching(session, channel: channel, attempt.withoutPauses)
    return .proceed([.call(resultCall(session, channel))])
  }

  mutating func fetching(
    _ event: FlowEvent<BSACall>, _ session: BSASignInSession, _ channel: Sealed<Secret>,
    _ attempt: Attempt
  ) -> Answer<BSACall> {
    switch event {
    case .provider(.called(resultCall(session, channel), let outcome)) where !attempt.isPaused:
      switch BSAReply(outcome) {
      case .success(let data):
        guard let token = data.visibleSecret else { return .fail(.missingMember("token in data")) }
        return .finish(completion(token))
      case let reply:
        return retryOrFail(reply, attempt, session) { .fetching(session, channel: channel, $0) }
      }
    case .woken where attempt.isPaused, .daemon(.resumed): return fetch(session, channel, attempt)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  /// Handles any reply other than success, for each of the three calls.
  private mutating func retryOrFail(
    _ reply: BSAReply, _ attempt: Attempt, _ session: BSASignInSession, _ state: (Attempt) -> State
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
    case .success: return .ignore
    case .refused(let code):
      return .fail(
        .refused(code, provider.name), cleanUp: code.endsSession ? [] : [.cancel(session)])
    case .failed(let fault):
      let failure = Failure.unreachable(fault)
      let pause = pause(attempt.retrying, failure, after: fault.retryAfter) {
        attempt.retrying = $1
        attempt.isLost = attempt.isLost || fault.mayHaveTakenEffect
        $0.state = state(attempt)
      }
      return pause.map { .proceed([.wake(after: $0)]) }
        ?? .fail(failure, cleanUp: [.cancel(session)])
    case .unreadable(let message), .noToken(let message):
      return .fail(.protocolError(message), cleanUp: [.cancel(session)])
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
  fileprivate var withoutPauses: Self {
    var attempt = self
    attempt.retrying.endPause()
    attempt.isWaiting = false
    return attempt
  }
}

extension RTCode {
  fileprivate var isAboutQR: Bool { self == .qrInvalid || self == .qrOtherApp }

  /// Whether the code means that the sign-in has ended, so that there is nothing to cancel.
  fileprivate var endsSession: Bool {
    [.certificateTimeout, .authTimeout, .authCancelled, .requestCancelled].contains(self)
  }
}

extension Problem {
  fileprivate static func qrInvalid(_ code: RTCode, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "qr_invalid", title: "Not a code of this provider", message: code.meaning,
      provider: code.providerErrorCode(provider))
  }
}
