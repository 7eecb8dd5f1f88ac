import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

// Completes the sign-in: from the site's request or the QR code to the access token.

extension BSAAuthenticate {
  /// Asks the daemon whether the account still exists, before BSA is called: an account that was
  /// removed while the flow ran must not be signed in.
  mutating func check(_ session: BSASignInSession) -> Answer {
    state = .checking(session)
    return .proceed([.ask(.presence(of: order.account.id))])
  }

  mutating func checking(_ event: Event, _ session: BSASignInSession) -> Answer {
    switch event {
    case .daemon(.answered(.presence(true?))): return make(.start, session)
    case .daemon(.answered(.presence(false?))):
      let failure = Failure(
        reason: .denied, title: "No longer available",
        message: "the account was forgotten in the meantime",
        retryable: false)
      return .fail(failure, cleanUp: callsIfAbandoned)
    case .daemon(.answered(.presence(nil))): return .proceed([.wake(after: .seconds(1))])
    case .daemon(.resumed), .woken: return check(session)
    case .input, .browser, .provider, .daemon: return .ignore
    }
  }

  /// The three calls to BSA that complete a sign-in, in their order.
  enum SignInCall {
    case start
    case complete(channel: Sealed<Secret>)
    case fetch(channel: Sealed<Secret>)
  }

  private func phase(_ call: SignInCall, _ session: BSASignInSession, _ attempt: Attempt) -> State {
    switch call {
    case .start: .starting(session, attempt)
    case .complete(let channel): .completing(session, channel: channel, attempt)
    case .fetch(let channel): .fetching(session, channel: channel, attempt)
    }
  }

  private func request(_ call: SignInCall, _ session: BSASignInSession) -> BSACall {
    switch call {
    case .start: .start(session, userKey: order.account.subject)
    case .complete: .complete(session, isProved: order.authType.localAuthType != nil)
    case .fetch(let channel): .result(session, channel: channel.unsealed())
    }
  }

  private mutating func make(
    _ call: SignInCall, _ session: BSASignInSession, _ attempt: Attempt = Attempt()
  ) -> Answer {
    if case .fetch = call { problem = nil }
    state = phase(call, session, attempt.withoutPauses)
    return .proceed([.call(request(call, session))])
  }

  mutating func signingIn(
    _ event: Event, _ call: SignInCall, _ session: BSASignInSession, _ attempt: Attempt
  ) -> Answer {
    switch event {
    case .provider(.called(request(call, session), let outcome)) where !attempt.isPaused:
      return answered(BSAReply(outcome, to: request(call, session)), call, session, attempt)
    case .woken where attempt.isPaused: return make(call, session, attempt)
    case .daemon(.resumed):
      var attempt = attempt
      if case .complete = call { attempt.isLost = attempt.isLost || !attempt.isPaused }
      return make(call, session, attempt)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func answered(
    _ reply: BSAReply, _ call: SignInCall, _ session: BSASignInSession, _ attempt: Attempt
  ) -> Answer {
    switch (call, reply) {
    case (.start, .success(let data)):
      guard let channel = data.objectValue?["channelKey"]?.visibleSecret else {
        return .fail(.missingMember("data.channelKey"), cleanUp: [.cancel(session)])
      }
      problem = nil
      waits = 0
      return make(.complete(channel: channel), session)
    case (.start, .refused(let refusal))
    where refusal.code.isAboutQR && order.way == .qr && !order.hasQRID:
      state = .scan
      problem = .qrInvalid(refusal, provider.name)
      return .proceed([])
    case (.complete(let channel), .success): return make(.fetch(channel: channel), session)
    // The reply to an earlier call was lost, and that call has completed the sign-in.
    case (.complete(let channel), .refused(RTCode.nothingInProgress)) where attempt.isLost:
      return make(.fetch(channel: channel), session)
    case (.fetch, .success(let data)):
      guard let token = data.visibleSecret else { return .fail(.missingMember("token in data")) }
      return .finish(completion(token))
    case (.start, _), (.complete, _), (.fetch, _): return retryOrFail(reply, call, session, attempt)
    }
  }

  /// Handles a reply that does not complete one of the three calls: waits, retries or fails.
  private mutating func retryOrFail(
    _ reply: BSAReply, _ call: SignInCall, _ session: BSASignInSession, _ attempt: Attempt
  ) -> Answer {
    var attempt = attempt
    switch reply {
    case .refused(RTCode.authInProgress) where waits < Self.waitLimit,
      .refused(RTCode.nothingInProgress) where waits < Self.waitLimit:
      waits += 1
      problem = nil
      attempt.isWaiting = true
      state = phase(call, session, attempt)
      return .proceed([.wake(after: .seconds(provider.settings.pollSeconds))])
    case .success: return .ignore
    case .refused(let refusal):
      let calls = refusal.code.endsSession ? [] : [BSACall.cancel(session)]
      return .fail(.refused(refusal, provider.name), cleanUp: calls)
    case .failed(let fault):
      let failure = Failure.unreachable(fault)
      let pause = pause(attempt.retrying, failure, after: fault.retryAfter) {
        attempt.retrying = $1
        attempt.isLost = attempt.isLost || fault.mayHaveTakenEffect
        $0.state = $0.phase(call, session, attempt)
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
    // The user may have registered the device again since the flow began, so newer attributes stay.
    grant.isPartial = true
    // If the account was removed in the meantime, it must not be created again.
    return Completion(grant: grant, preconditions: .init(account: order.account.id, consents: []))
  }
}

extension BSAAuthenticate.Attempt {
  /// The attempt as the next call begins: no pause is running.
  fileprivate var withoutPauses: Self {
    var attempt = self
    attempt.retrying.endPause()
    attempt.isWaiting = false
    return attempt
  }
}

extension RTCode {
  fileprivate var isAboutQR: Bool { self == .qrInvalid || self == .qrOtherApp }

  /// Whether the code means that the sign-in has already ended at BSA, so that no call to cancel it
  /// is needed.
  fileprivate var endsSession: Bool {
    [.certificateTimeout, .authTimeout, .authCancelled, .requestCancelled].contains(self)
  }
}

extension Problem {
  fileprivate static func qrInvalid(_ refusal: RTRefusal, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "qr_invalid", title: "Not a code of this provider", message: refusal.code.meaning,
      provider: refusal.providerErrorCode(provider))
  }
}
