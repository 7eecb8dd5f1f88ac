import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

// Asks for an existing verdict first: a verified user need not be captured again.
extension VerifyIdentity {
  mutating func requestSubmission(of link: LinkingToken, _ retrying: RetryBackoff) -> Answer {
    state = .current(link, retrying)
    return .proceed([.call(.currentSubmission(link, requestID: order.requestID))])
  }

  mutating func current(
    _ event: Event, _ link: LinkingToken, _ retrying: RetryBackoff,
    _ transition: inout TransitionContext
  ) -> Answer {
    if event.repeatsCall(retrying) { return requestSubmission(of: link, retrying.resumed) }
    let call = GoPayCall.currentSubmission(link, requestID: order.requestID)
    guard let outcome = event.outcome(of: call, retrying) else { return .ignore }
    return answered(GoPayReply(outcome, to: call), link, retrying, &transition)
  }

  private mutating func answered(
    _ reply: GoPayReply, _ link: LinkingToken, _ retrying: RetryBackoff,
    _ transition: inout TransitionContext
  ) -> Answer {
    switch reply {
    case .success(let data):
      // A new capture is needed unless GoPay has verified the earlier submission. An ERROR does not
      // fail the flow: it is about that submission, and would bar the user from another one.
      guard let reported = try? KYCStatus(data), reported.status == .completed,
        reported.result == .valid
      else { return capture(.link(link), &transition) }
      return finish(
        KYCRecord(order.requestID, reported, at: transition.now), link,
        exchangedID: order.exchangedID)
    case .refused(let refusal) where refusal.isPending: return capture(.link(link), &transition)
    case .refused(let refusal): return .fail(refusal.failure(provider.name))
    case .failed(let fault):
      return retry(retrying, fault.failure(provider.name), after: fault.retryAfter) {
        $0.state = .current(link, $1)
      }
    case .unreadable(let message), .noToken(let message):
      return .fail(.unusable(gopay: message, provider.name))
    }
  }
}

// The user photographs card and face on a page of GoPay.
extension VerifyIdentity {
  /// Starts the capture.
  ///
  /// - Parameters:
  ///   - isBound: Whether this flow itself created the binding to the GoPay account.
  ///   - exchangedID: The `userCorrelationId` that the exchange returned.
  mutating func capture(
    _ source: Capture.Source, isBound: Bool = false, exchangedID: String? = nil,
    _ transition: inout TransitionContext
  ) -> Answer {
    problem = nil
    return sendCall(
      of: Capture(
        source, isBound: isBound, exchangedID: exchangedID, order,
        seconds: provider.settings.captureSeconds, &transition))
  }

  private mutating func sendCall(of capture: Capture) -> Answer {
    state = .kyc(capture)
    return .proceed([.call(capture.call)])
  }

  mutating func kyc(_ event: Event, _ capture: Capture, _ now: Timestamp) -> Answer {
    switch event {
    case .provider(.called(capture.call, let outcome)) where !capture.retrying.isPaused:
      return answered(GoPayReply(outcome, to: capture.call), capture, now)
    case .provider(.calledBack(let callback)): return calledBack(callback, capture, now)
    case .input(let input): return answered(input, capture)
    case .woken where capture.page == nil && !capture.retrying.isPaused: return .ignore
    case .woken, .daemon(.resumed):
      return sendCall(of: copy(capture) { $0.retrying.endPause() })
    case .browser, .provider, .daemon: return .ignore
    }
  }

  /// Handles the redirect at the end of the capture page. The redirect proves nothing, so it only
  /// triggers an immediate poll.
  private mutating func answered(_ input: FlowInput, _ capture: Capture) -> Answer {
    switch input {
    case .redirect(let url):
      guard let returnURL = capture.session.returnURL, capture.page != nil else { return .ignore }
      guard url.isReturn(to: returnURL) else { return .notAReturn(to: returnURL) }
      return sendCall(of: capture)
    case .back: return .noPreviousStep
    case .code, .resend, .password, .alternative, .confirmed, .choice, .form, .granted, .denied,
      .exchanged,
      .exchangeFailed, .passcode, .biometric, .cancelLocalAuth, .fallback:
      return .ignore
    }
  }

  private mutating func calledBack(
    _ callback: ProviderCallback, _ capture: Capture, _ now: Timestamp
  ) -> Answer {
    guard let reported = try? KYCStatus(GoPayData(members: callback.members)),
      let page = capture.page, Secret(reported.submissionID) == Secret(page.submissionID)
    else { return .ignore }
    guard reported.status != .error else {
      return .fail(.ended(reported.reasonCode, provider.name))
    }
    let record = KYCRecord(order.requestID, reported, at: now)
    return finish(record, of: capture)
  }

  private mutating func answered(
    _ reply: GoPayReply, _ capture: Capture, _ now: Timestamp
  ) -> Answer {
    switch reply {
    case .success(let data):
      do throws(UnusableReply) {
        return try handleSuccess(data, capture, now)
      } catch {
        return .fail(.unusable(gopay: error.message, provider.name))
      }
    case .refused(let refusal):
      // Only the capture token can be replaced, and only if the previous one has worked.
      guard refusal.isUnauthorized, capture.token != nil, !capture.isReplaced else {
        return .fail(refusal.failure(provider.name))
      }
      var capture = capture
      capture.token = nil
      capture.isReplaced = true
      return sendCall(of: capture)
    case .failed(let fault):
      guard capture.page == nil else { return pollLater(fault, capture) }
      let failure = fault.failure(provider.name)
      return retry(capture.retrying, failure, after: fault.retryAfter) { flow, backoff in
        flow.state = .kyc(copy(capture) { $0.retrying = backoff })
      }
    case .unreadable(let message), .noToken(let message):
      return .fail(.unusable(gopay: message, provider.name))
    }
  }

  private mutating func handleSuccess(
    _ data: GoPayData, _ capture: Capture, _ now: Timestamp
  ) throws(UnusableReply) -> Answer {
    var capture = capture
    capture.retrying = RetryBackoff()
    guard capture.token != nil else {
      capture.token = Sealed(try data.captureToken())
      problem = nil
      return sendCall(of: capture)
    }
    guard let page = capture.page, capture.isRenewingPage != true else {
      capture.show(try data.capturePage(), at: now)
      return wait(capture)
    }
    switch try data.capture(page.submissionID) {
    case .created where capture.isPageExpired(at: now):
      return sendCall(of: copy(capture) { $0.isRenewingPage = true })
    case .created: return wait(capture)
    case .submitted:
      let record = KYCRecord(order.requestID, submitted: page.submissionID, at: now)
      return finish(record, of: capture)
    case .failed(let refusal): return .fail(refusal.failure(provider.name))
    }
  }

  /// Waits for the next poll. After each reply without news the state is the same, so that nothing
  /// is written to disk.
  private mutating func wait(_ capture: Capture) -> Answer {
    var capture = capture
    capture.isReplaced = false
    capture.misses = 0
    state = .kyc(capture)
    problem = nil
    return .proceed([.wake(after: .seconds(provider.settings.pollSeconds))])
  }

  private mutating func pollLater(_ fault: GoPayReplyError, _ capture: Capture) -> Answer {
    var capture = capture
    let pause = capture.miss(provider.settings.pollSeconds)
    state = .kyc(capture)
    problem = .unreachable(fault, provider.name)
    return .proceed([.wake(after: RetryBackoff.pause(pause, requested: fault.retryAfter))])
  }
}

extension VerifyIdentity {
  /// The account attribute with the `userCorrelationId` that the exchange returned. It identifies
  /// the user at GoPay, and the account's subject identifies the app's user.
  static let exchangedIDAttribute = "exchangedUserCorrelationId"

  private mutating func finish(_ record: KYCRecord, of capture: Capture) -> Answer {
    finish(
      record, capture.link, isBound: capture.isBound,
      exchangedID: capture.exchangedID ?? order.exchangedID)
  }

  /// Ends the flow with the account to store.
  ///
  /// - Parameters:
  ///   - link: The linking token that the account stores, or the account that has it already; nil
  ///     if none is known.
  ///   - isBound: Whether this flow created the binding, so that the daemon must remove it later.
  ///   - exchangedID: The user's id at GoPay; nil if it is unknown.
  private mutating func finish(
    _ record: KYCRecord, _ link: LinkingToken?, isBound: Bool = false, exchangedID: String?
  ) -> Answer {
    state = .submitted
    problem = nil
    var attributes = [KYCRecord.attribute: record.json]
    if isBound {
      attributes[GoPayTokens.deviceAttribute] = .string(order.installation)
    }
    attributes[Self.exchangedIDAttribute] = exchangedID.map { .string($0) }
    let tokens = link?.secret.map {
      TokenSet(accessToken: $0, tokenType: "Bearer", expiresAt: nil, scope: "")
    }
    return .finish(
      Completion(
        grant: AccountGrant(
          subject: order.correlationID,
          label: ProviderText.shown(order.correlationID) ?? order.correlationID,
          attributes: attributes, tokens: tokens),
        result: [
          "submissionId": .string(record.submissionID), "metadata": .object(record.metadata),
        ]))
  }
}
