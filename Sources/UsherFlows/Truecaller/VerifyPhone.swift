package import JSONRPC
package import UsherAPI
package import UsherConfig
package import UsherCore

/// Verifies a phone number by a code in an SMS, for users without the Truecaller app (SDK
/// documentation; provider contract §1; page Truecaller in Usher.docc).
package struct VerifyPhone: FlowMachine, RetryingMachine {
  package typealias Event = FlowEvent<TruecallerCall>
  package typealias Answer = UsherFlows.Answer<TruecallerCall>
  package static let kind = "verifyPhone"
  package static let summary = "Verify a phone number by a code in an SMS."
  package static let knowsAccounts = true
  package static let accountUse = AccountUse.named

  package struct Params: Codable, Sendable, Equatable, SchemaDocumented {
    /// The national number: ten digits for India.
    package var phoneNumber: String
    /// An ISO 3166-1 alpha-2 code in upper or lower case.
    package var countryCode: String
    /// The app key of the app's SDK. It must equal the configured one.
    package var appKey: WireSecret?
    /// The app link of the app's SDK. It must equal the configured one.
    package var appLink: String?
  }

  package let provider: Provider<TruecallerSettings>
  private var state: State
  var problem: Problem?
  /// How long the user may take for each code, and until when in the present state; nil in flows
  /// that an older version stored.
  private var patience: Patience?

  private struct Patience: Codable, Sendable, Equatable {
    let time: Duration
    var end: Timestamp
  }

  private enum State: Codable, Sendable, Equatable {
    /// The flow failed before any call to Truecaller.
    case refused(Failure)
    /// Requests a code. Next: otpInitiated, admitting, or the end.
    case creating(PhoneClaim, CodeRequest)
    /// The user is asked for the code. Next: verifying, creating.
    case otpInitiated(PhoneClaim, PhoneChallenge)
    /// Verifies the code. Next: otpInitiated, admitting, or the end.
    case verifying(PhoneClaim, PhoneChallenge, CodeCheck)
    /// Stores the account with the access token, then reads the profile. Next: the end.
    case admitting(PhoneAdmission)
    /// Reads the profile of the account that an earlier flow stored without one. Next: creating, or
    /// the end.
    case completing(PhoneClaim, PhoneAdmission)

    /// The names of the cases in stored flows, which earlier versions can have stored.
    private enum CodingKeys: String, CodingKey {
      case refused, creating, otpInitiated
      case verifying = "otpReceived"
      case admitting, completing
    }
  }

  /// A request to Truecaller to send a code, and its failed attempts.
  private struct CodeRequest: Codable, Sendable, Equatable {
    var retrying = RetryBackoff()
  }

  /// A code that Truecaller verifies. The code is held only during a pause before the next attempt,
  /// and only in memory.
  private struct CodeCheck: Codable, Sendable, Equatable {
    var code = Transient(nil)
    var retrying = RetryBackoff()
  }

  package static func begin(
    _ params: Params, _ context: FlowContext<TruecallerSettings>,
    at transition: inout TransitionContext
  ) throws(UsherError) -> (VerifyPhone, Answer) {
    let provider = context.provider
    if let key = params.appKey, !context.credential.accepts(key.secret) {
      return refused(.otherApp(.appKeyMissing, "the appKey", provider.name), provider)
    }
    if let link = params.appLink, Secret(link) != Secret(provider.settings.appLink) {
      return refused(.otherApp(.appLinkMissing, "the appLink", provider.name), provider)
    }
    do throws(InvalidValue) {
      let number = try PhoneNumber(params.phoneNumber, country: params.countryCode)
      let key = number.flowKey(salt: transition.random(PhoneNumber.saltLength))
      let claim = PhoneClaim(number: number, installation: context.installationID, key: key)
      if let account = context.pendingAccount(of: number) {
        let admission = PhoneAdmission(claim, of: account)
        let time = context.endsAt - transition.now
        let flow = VerifyPhone(
          provider: provider, state: .completing(claim, admission),
          patience: Patience(time: time, end: context.endsAt))
        return (flow, .proceed(admission.effects))
      }
      let time = context.endsAt - transition.now
      let flow = VerifyPhone(
        provider: provider, state: .creating(claim, CodeRequest()),
        patience: Patience(time: time, end: context.endsAt))
      return (flow, .proceed([.call(claim.create)]))
    } catch {
      return refused(.impossible(error, provider.name), provider)
    }
  }

  package static func acceptsAccount(
    _ subject: String, _ attributes: [String: JSONValue], for params: JSONValue
  ) -> Bool {
    guard let text = params["phoneNumber"]?.stringValue,
      let country = params["countryCode"]?.stringValue,
      let number = try? PhoneNumber(text, country: country)
    else { return false }
    return number.isPending(at: subject, attributes)
  }

  /// Returns a flow that fails at once because of its parameters. Truecaller's SDK reports wrong
  /// parameters as a failed verification, so `flow.start` succeeds and the flow fails.
  private static func refused(
    _ failure: Failure, _ provider: Provider<TruecallerSettings>
  ) -> (VerifyPhone, Answer) {
    (VerifyPhone(provider: provider, state: .refused(failure)), .fail(failure))
  }

  package var view: FlowView {
    switch state {
    case .refused: waiting("creating", for: "the code to be sent")
    case .creating(let claim, _):
      copy(waiting("creating", for: "the code to be sent")) { $0.key = claim.key }
    case .otpInitiated(let claim, let challenge):
      FlowView(
        state: "otpInitiated",
        step: .enterCode(challenge.step(claim.number, digits: provider.settings.otpDigits)),
        problem: problem, key: claim.key)
    case .verifying(let claim, _, _):
      copy(waiting("verifying", for: "the code's verification")) { $0.key = claim.key }
    case .admitting(let admission), .completing(_, let admission): admission.view
    }
  }

  package mutating func receive(_ event: Event, at transition: inout TransitionContext) -> Answer {
    switch state {
    case .refused(let failure): return event == .daemon(.resumed) ? .fail(failure) : .ignore
    case .creating(let claim, let request): return creating(event, claim, request, transition.now)
    case .otpInitiated(let claim, let challenge):
      return otpInitiated(event, claim, challenge, transition.now)
    case .verifying(let claim, let challenge, let check):
      return verifying(event, claim, challenge, check, transition.now)
    case .admitting(var admission):
      let answer = admission.receive(event, provider)
      state = .admitting(admission)
      return answer ?? .ignore
    case .completing(let claim, var admission):
      // The stored token is of no use any more, so the number is verified again.
      guard let answer = admission.receive(event, provider) else {
        return create(claim, CodeRequest())
      }
      state = .completing(claim, admission)
      return answer
    }
  }

  /// A code that was requested again can be entered until it expires, or for as long as a first one
  /// could.
  package var endsAt: Timestamp? { patience?.end }

  package var unknownOutcome: String? {
    guard case .creating(_, let request) = state, !request.retrying.isPaused else { return nil }
    return .perhapsSent("an SMS")
  }

  package static func providerErrorCode(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? {
    [.cancelled, .expired].contains(ending)
      ? TruecallerErrorCode.userCancelled.providerErrorCode(provider) : nil
  }
}

extension PhoneNumber {
  /// Returns whether an account belongs to this number and an earlier flow stored it without a
  /// profile.
  fileprivate func isPending(at subject: String, _ attributes: [String: JSONValue]) -> Bool {
    subject == e164 && attributes[PhoneAdmission.pending] == .bool(true)
  }
}

extension FlowContext<TruecallerSettings> {
  /// Returns the account that an earlier flow stored without a profile; nil if there is none for
  /// this number.
  fileprivate func pendingAccount(of number: PhoneNumber) -> AccountID? {
    accounts.first {
      number.isPending(at: $0.subject, accountAttributes[$0.id] ?? [:])
    }?.id
  }
}

// Requests a code.

extension VerifyPhone {
  private mutating func create(_ claim: PhoneClaim, _ request: CodeRequest) -> Answer {
    state = .creating(claim, copy(request) { $0.retrying.endPause() })
    return .proceed([.call(claim.create)])
  }

  private mutating func creating(
    _ event: Event, _ claim: PhoneClaim, _ request: CodeRequest, _ now: Timestamp
  ) -> Answer {
    switch event {
    case .provider(.called(claim.create, let outcome)) where !request.retrying.isPaused:
      return created(read(outcome, claim), claim, request, now)
    case .woken where !request.retrying.isPaused: return .ignore
    case .daemon(.resumed) where !request.retrying.isPaused:
      let message = "the daemon was restarted before the provider answered"
      return .fail(
        .unknownSending(message, TruecallerErrorCode.network.providerErrorCode(provider.name)))
    case .woken, .daemon(.resumed): return create(claim, request)
    case .input, .browser, .provider, .daemon: return .ignore
    }
  }

  private func read(
    _ outcome: CallOutcome, _ claim: PhoneClaim, code: Secret? = nil
  ) -> TruecallerReply {
    let typed = TypedValues(
      number: claim.number, code: code, name: claim.name,
      codeLength: provider.settings.otpDigits)
    return TruecallerReply(outcome, hiding: typed)
  }

  private mutating func created(
    _ reply: TruecallerReply, _ claim: PhoneClaim, _ request: CodeRequest, _ now: Timestamp
  ) -> Answer {
    switch reply {
    case .success(let members):
      switch CreateReply(members, at: now) {
      case .sent(let challenge):
        if let patience {
          self.patience?.end = max(patience.end, min(challenge.expiresAt, now + patience.time))
        }
        return show(claim, challenge, nil)
      case .verifiedBefore(let token): return admit(claim, token, isVerifiedBefore: true)
      case .unusable(let message): return .fail(.unusable(message, .internal, provider.name))
      }
    case .refused(let refusal): return .fail(refusal.ofCreate(provider.name))
    // The call is not repeated, because each one may send an SMS.
    case .failed(let fault) where fault.mayHaveTakenEffect:
      return .fail(.unknownSending(fault.message, fault.providerErrorCode(provider.name)))
    case .failed(let fault):
      return retry(request.retrying, fault.failure(provider.name), after: fault.retryAfter) {
        $0.state = .creating(claim, CodeRequest(retrying: $1))
      }
    case .unreadable(let message), .noToken(let message):
      return .fail(.unusable(message, .internal, provider.name))
    }
  }

  private mutating func show(
    _ claim: PhoneClaim, _ challenge: PhoneChallenge, _ problem: Problem?
  ) -> Answer {
    state = .otpInitiated(claim, challenge)
    self.problem = problem
    return .proceed([])
  }

  private mutating func admit(
    _ claim: PhoneClaim, _ token: Secret, isVerifiedBefore: Bool
  ) -> Answer {
    let admission = PhoneAdmission(
      claim, Sealed(token), isVerifiedBefore: isVerifiedBefore, provider.settings.validation)
    state = .admitting(admission)
    problem = nil
    return .proceed(admission.effects)
  }
}

// MARK: - The user and the code

extension VerifyPhone {
  private mutating func otpInitiated(
    _ event: Event, _ claim: PhoneClaim, _ challenge: PhoneChallenge, _ now: Timestamp
  ) -> Answer {
    switch event {
    case .input(.code(let code, let fields)):
      if let refusal = Answer.refusal(of: code, digits: provider.settings.otpDigits) {
        return refusal
      }
      let names: Set = ["firstName", "lastName"]
      if let refusal = Answer.refusal(of: fields, otherThan: names) { return refusal }
      guard now < challenge.expiresAt else {
        return show(claim, challenge, .codeExpired(nil, provider.name))
      }
      do throws(InvalidValue) {
        var claim = claim
        claim.name = try TruecallerName(fields)
        problem = nil
        return verify(code, claim, challenge, CodeCheck())
      } catch {
        return show(claim, challenge, .invalidName(error.message, provider.name))
      }
    case .input(.resend):
      guard now >= challenge.expiresAt else {
        let message = "another code can be requested when this one has expired"
        return show(claim, challenge, .tooEarly(challenge.expiresAt - now, message, provider.name))
      }
      problem = nil
      return create(claim, CodeRequest())
    case .input(.back): return .noPreviousStep
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func verify(
    _ code: Secret, _ claim: PhoneClaim, _ challenge: PhoneChallenge, _ check: CodeCheck
  ) -> Answer {
    var check = check
    check.code = Transient(nil)
    check.retrying.endPause()
    state = .verifying(claim, challenge, check)
    return .proceed([.call(.verify(claim.number, code: code, token: challenge.token.unsealed()))])
  }

  private mutating func verifying(
    _ event: Event, _ claim: PhoneClaim, _ challenge: PhoneChallenge, _ check: CodeCheck,
    _ now: Timestamp
  ) -> Answer {
    switch event {
    case .provider(
      .called(.verify(claim.number, let code, challenge.token.unsealed()), let outcome))
    where !check.retrying.isPaused:
      return checked(read(outcome, claim, code: code), code, claim, challenge, check, now)
    case .woken where check.retrying.isPaused:
      guard let code = check.code.secret else { return show(claim, challenge, .interrupted) }
      guard now < challenge.expiresAt else {
        return show(claim, challenge, .codeExpired(nil, provider.name))
      }
      return verify(code, claim, challenge, check)
    case .daemon(.resumed): return show(claim, challenge, .interrupted)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func checked(
    _ reply: TruecallerReply, _ code: Secret, _ claim: PhoneClaim, _ challenge: PhoneChallenge,
    _ check: CodeCheck, _ now: Timestamp
  ) -> Answer {
    switch reply {
    case .success(let members):
      guard let token = members.accessToken else {
        return .fail(.unusable(.neitherYesNorNo, .internal, provider.name))
      }
      return admit(claim, token, isVerifiedBefore: false)
    case .refused(let refusal):
      let rest = challenge.merging(refusal.members, at: now)
      switch refusal.ofVerify(provider.name) {
      case .wrongCode: return show(claim, rest, .wrongCode(refusal, provider.name))
      case .expired: return show(claim, rest.over(at: now), .codeExpired(refusal, provider.name))
      case .failure(let failure): return .fail(failure)
      }
    case .failed(let fault) where fault.refusal?.status == 429:
      let message = "the provider accepts no more codes at present"
      return show(claim, challenge, .tooEarly(fault.retryAfter, message, provider.name))
    case .failed(let fault) where !fault.mayHaveTakenEffect:
      let pause = pause(check.retrying, fault.failure(provider.name)) {
        let check = CodeCheck(code: Transient(code), retrying: $1)
        $0.state = .verifying(claim, challenge, check)
      }
      // The code is still valid, so the user may enter it when the network is back.
      return pause.map { .proceed([.wake(after: $0)]) }
        ?? show(claim, challenge, .unreachable(fault, provider.name))
    // The server may have counted the code, or even accepted it, so only the user repeats it.
    case .failed(let fault): return show(claim, challenge, .unreachable(fault, provider.name))
    case .unreadable(let message), .noToken(let message):
      return .fail(.unusable(message, .internal, provider.name))
    }
  }
}
