import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// Verifies that a user receives messages at an e-mail address or phone number; a part of several
/// BSA flows (SDK documentation, OTP Number Request and Validation).
///
/// The flow that contains this value performs the effects of ``begin()``, shows ``step`` and
/// ``problem``, and forwards every event while the verification runs. Numbers occur only in events
/// and calls, never in this value.
struct ContactVerification: RetryingMachine, Codable, Sendable, Equatable {
  let contact: BSAContact
  /// The registered user that the contact must belong to; nil if the contact may be anyone's.
  let member: BSAMember?
  /// The authentication method that the registered user's device has, as BSA reports it; nil until
  /// BSA has sent the number.
  private(set) var registered: BSAAuthType?
  /// The time at which the flow expires; nil if the settings limit the life of a number.
  private let endsAt: Timestamp?
  var problem: Problem?
  private var stage = Phase.sending(Sending())
  private var sent = 0
  private var guesses = 0

  private enum Phase: Codable, Sendable, Equatable {
    /// BSA is asked to send a number. Next: otpSent, or the end.
    case sending(Sending)
    /// The user is asked for the number. Next: verifying, sending.
    case otpSent(Challenge)
    /// BSA checks the number that the user typed. Next: otpSent, or the end.
    case verifying(Challenge, Check)
    /// The verification has ended.
    ///
    /// - Parameter state: The last state that the flow's view showed.
    case done(state: String)
  }

  private struct Sending: Codable, Sendable, Equatable {
    var retrying = RetryBackoff()
    /// The number that was sent before; it stays valid until it expires.
    var previous: Challenge?
  }

  private struct Challenge: Codable, Sendable, Equatable {
    /// The time from which the number is not sent to BSA; the flow's end if BSA decides.
    let expiresAt: Timestamp
    let resendAt: Timestamp
  }

  /// BSA's check of a one-time number that the user typed. The number is kept only in memory, and
  /// only during a pause before the check is repeated.
  private struct Check: Codable, Sendable, Equatable {
    var number = Transient(nil)
    var retrying = RetryBackoff()
  }

  /// The verification succeeds with BSA's proof of it, the `disposeToken` that a registration
  /// needs.
  typealias Answer = FlowAnswer<BSACall, Sealed<Secret>>

  /// Creates a verification.
  ///
  /// - Parameter member: The registered user that the contact must belong to, if it must.
  init(_ contact: BSAContact, of member: BSAMember? = nil, _ context: FlowContext<BSASettings>) {
    self.contact = contact
    self.member = member
    endsAt = context.provider.settings.otpSeconds == nil ? context.endsAt : nil
  }

  private var sendCall: BSACall { member.map { .sendToMember($0, contact) } ?? .send(contact) }

  mutating func begin() -> [Effect<BSACall>] { send(Sending()) }

  /// The name of the state in the flow's view. BSA's SDK documentation names no states of a
  /// verification, so the names are the daemon's own.
  var state: String {
    switch stage {
    case .sending: "sending"
    case .otpSent: "otpSent"
    case .verifying: "verifying"
    case .done(let state): state
    }
  }

  var isAsking: Bool { if case .otpSent = stage { true } else { false } }

  /// See ``FlowMachine/unknownOutcome``.
  var unknownOutcome: String? {
    guard case .sending(let sending) = stage, !sending.retrying.isPaused else { return nil }
    return .perhapsSent("a number")
  }

  func step(_ settings: BSASettings) -> Step {
    switch stage {
    case .sending: .wait(.init(for: "the number to be sent"))
    case .verifying, .done: .wait(.init(for: "the number's verification"))
    case .otpSent(let challenge):
      .enterCode(
        .init(
          purpose: .otp, channel: contact.channel.rawValue, maskedTarget: contact.masked,
          digits: settings.otpDigits, expiresAt: challenge.expiresAt,
          resendAt: challenge.resendAt, alsoAsk: []))
    }
  }

  mutating func receive(
    _ event: FlowEvent<BSACall>, _ provider: Provider<BSASettings>, at now: Timestamp
  ) -> Answer {
    switch stage {
    case .sending(let sending): handleSending(event, sending, provider, now)
    case .otpSent(let challenge): handleOTPSent(event, challenge, provider, now)
    case .verifying(let challenge, let check):
      handleVerifying(event, challenge, check, provider, now)
    case .done: .ignore
    }
  }

  private mutating func fail(_ failure: Failure) -> Answer {
    stage = .done(state: state)
    problem = nil
    return .fail(failure)
  }

  private mutating func show(_ challenge: Challenge, _ problem: Problem?) -> Answer {
    stage = .otpSent(challenge)
    self.problem = problem
    return .proceed([])
  }
}

// MARK: - Sending a number

extension ContactVerification {
  private mutating func send(_ sending: Sending) -> [Effect<BSACall>] {
    stage = .sending(copy(sending) { $0.retrying.endPause() })
    return [.call(sendCall)]
  }

  private mutating func handleSending(
    _ event: FlowEvent<BSACall>, _ sending: Sending, _ provider: Provider<BSASettings>,
    _ now: Timestamp
  ) -> Answer {
    switch event {
    case .provider(.called(sendCall, let outcome)) where !sending.retrying.isPaused:
      return sent(BSAReply(outcome, to: sendCall), sending, provider, now)
    case .woken where sending.retrying.isPaused: return .proceed(send(sending))
    case .daemon(.resumed) where sending.retrying.isPaused: return .proceed(send(sending))
    case .daemon(.resumed):
      return mayHaveSent(
        "the daemon was restarted before the provider answered", sending, provider, now)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func sent(
    _ reply: BSAReply, _ sending: Sending, _ provider: Provider<BSASettings>, _ now: Timestamp
  ) -> Answer {
    switch reply {
    case .success(let data):
      if member != nil {
        guard let isValid = data.objectValue?["result"]?.boolValue else {
          return fail(.missingMember("data.result"))
        }
        guard isValid else { return fail(.refused(RTRefusal(.notRegistered), provider.name)) }
        registered = data.objectValue?["authType"]?.looseInteger
          .flatMap { BSAAuthType(number: $0) }
      }
      sent += 1
      return show(challenge(provider.settings, now), nil)
    case .refused(let refusal): return notSent(.notSent(refusal, provider.name), sending)
    case .failed(let fault) where fault.mayHaveTakenEffect:
      return mayHaveSent(fault.message, sending, provider, now)
    // BSA has certainly sent no number, so the call is repeated. Each message disturbs the user, so
    // a call that may have sent one is not.
    case .failed(let fault):
      let failure = Failure.unreachable(fault)
      let pause = pause(sending.retrying, failure, after: fault.retryAfter) {
        $0.stage = .sending(Sending(retrying: $1, previous: sending.previous))
      }
      return pause.map { .proceed([.wake(after: $0)]) } ?? notSent(failure, sending)
    case .unreadable(let message), .noToken(let message):
      return notSent(.protocolError(message), sending)
    }
  }

  private func challenge(_ settings: BSASettings, _ now: Timestamp) -> Challenge {
    Challenge(
      expiresAt: settings.otpSeconds.map { now + .seconds($0) } ?? endsAt ?? .latest,
      resendAt: now + .seconds(settings.resendSeconds ?? 0))
  }

  /// Fails, unless an earlier number is still valid: then the user can enter that.
  private mutating func notSent(_ failure: Failure, _ sending: Sending) -> Answer {
    guard let previous = sending.previous else { return fail(failure) }
    return show(previous, .notSent(failure))
  }

  /// Continues although the reply was lost: the user types the number if it arrives, and decides
  /// whether to request another.
  ///
  /// - Parameter cause: A sentence for users.
  private mutating func mayHaveSent(
    _ cause: String, _ sending: Sending, _ provider: Provider<BSASettings>, _ now: Timestamp
  ) -> Answer {
    // The lost reply would have told the user's authentication method, which the flow needs.
    guard member == nil || sending.previous != nil else { return fail(.unknownSending(cause)) }
    sent += 1
    return show(challenge(provider.settings, now), .mayHaveBeenSent("a number"))
  }
}

// MARK: - The user and the number

extension ContactVerification {
  private mutating func handleOTPSent(
    _ event: FlowEvent<BSACall>, _ challenge: Challenge, _ provider: Provider<BSASettings>,
    _ now: Timestamp
  ) -> Answer {
    switch event {
    case .input(.code(let number, let fields)):
      let digits = provider.settings.otpDigits
      if let refusal = Answer.refusal(of: number, digits: digits) { return refusal }
      if let refusal = Answer.refusal(of: fields) { return refusal }
      guard now < challenge.expiresAt else {
        return show(challenge, .numberExpired(nil, provider.name))
      }
      problem = nil
      return .proceed(verify(number, challenge, Check()))
    case .input(.resend):
      guard sent < provider.settings.maxCodes ?? .max else { return show(challenge, .sentEnough) }
      guard now >= challenge.resendAt else {
        return show(challenge, .tooEarly(challenge.resendAt - now))
      }
      problem = nil
      return .proceed(send(Sending(previous: challenge)))
    case .input(.back): return .noPreviousStep
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func verify(
    _ number: Secret, _ challenge: Challenge, _ check: Check
  ) -> [Effect<BSACall>] {
    var check = check
    check.number = Transient(nil)
    check.retrying.endPause()
    stage = .verifying(challenge, check)
    return [.call(.verify(contact, number: number))]
  }

  private mutating func handleVerifying(
    _ event: FlowEvent<BSACall>, _ challenge: Challenge, _ check: Check,
    _ provider: Provider<BSASettings>, _ now: Timestamp
  ) -> Answer {
    switch event {
    case .provider(.called(.verify(contact, let number), let outcome))
    where !check.retrying.isPaused:
      let reply = BSAReply(outcome, to: .verify(contact, number: number))
      return verified(reply, number, challenge, check, provider)
    case .woken where check.retrying.isPaused:
      guard let number = check.number.secret else { return show(challenge, .interrupted) }
      guard now < challenge.expiresAt else {
        return show(challenge, .numberExpired(nil, provider.name))
      }
      return .proceed(verify(number, challenge, check))
    case .daemon(.resumed): return show(challenge, .interrupted)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func verified(
    _ reply: BSAReply, _ number: Secret, _ challenge: Challenge, _ check: Check,
    _ provider: Provider<BSASettings>
  ) -> Answer {
    switch reply {
    case .success(let data):
      let members = data.objectValue ?? [:]
      guard let isRight = members["result"]?.boolValue else {
        return show(challenge, .unusable(.missingMember("data.result")))
      }
      // A wrong number is reported with rtCode 0 (provider contract §5.6).
      guard isRight else { return countWrongGuess(challenge, RTRefusal(.numberWrong), provider) }
      guard let token = members["disposeToken"]?.visibleSecret else {
        return show(challenge, .unusable(.missingMember("data.disposeToken")))
      }
      stage = .done(state: state)
      problem = nil
      return .finish(token)
    case .refused(let refusal) where refusal.code == .numberWrong:
      return countWrongGuess(challenge, refusal, provider)
    case .refused(let refusal) where refusal.code == .invalid:
      return show(challenge, .numberExpired(refusal, provider.name))
    // The provider decides how long the number is valid, so the user may type it again.
    case .refused(let refusal): return show(challenge, .notAccepted(refusal, provider.name))
    case .failed(let fault) where !fault.mayHaveTakenEffect:
      let failure = Failure.unreachable(fault)
      let pause = pause(check.retrying, failure, after: fault.retryAfter) {
        $0.stage = .verifying(challenge, Check(number: Transient(number), retrying: $1))
      }
      return pause.map { .proceed([.wake(after: $0)]) }
        ?? show(challenge, .unreachable(fault.message))
    // BSA may have counted the attempt, or even accepted it, so only the user repeats it.
    case .failed(let fault): return show(challenge, .unreachable(fault.message))
    case .unreadable(let message), .noToken(let message):
      return show(challenge, .unusable(.protocolError(message)))
    }
  }

  private mutating func countWrongGuess(
    _ challenge: Challenge, _ refusal: RTRefusal, _ provider: Provider<BSASettings>
  ) -> Answer {
    guesses += 1
    guard guesses < provider.settings.maxWrongCodes ?? .max else {
      return fail(
        Failure(
          reason: .attemptsExhausted, title: "Too many wrong numbers",
          message: "\(guesses) wrong numbers were typed", retryable: true,
          provider: refusal.providerErrorCode(provider.name)))
    }
    return show(challenge, .wrongCode(refusal, provider.name))
  }
}

extension Failure {
  /// The failure of a flow for which BSA refuses to send a number. In this case code 3006 means
  /// that BSA sends no more numbers at present, not that the input was invalid.
  fileprivate static func notSent(_ refusal: RTRefusal, _ provider: ProviderName) -> Failure {
    var failure = Failure.refused(refusal, provider)
    guard refusal.code == .invalid else { return failure }
    failure.message = "the provider sends no more numbers to this contact at present"
    failure.retryable = true
    return failure
  }
}

extension Problem {
  /// The problem that no other number was sent, although the previous one is still valid.
  ///
  /// - Parameter failure: The cause. Without a previous number it would end the flow.
  fileprivate static func notSent(_ failure: Failure) -> Problem {
    Problem(
      reason: "not_sent", title: "No other number", message: failure.message,
      provider: failure.provider)
  }

  fileprivate static func wrongCode(_ refusal: RTRefusal, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "wrong_code", title: "Wrong number",
      message: "this is not the number that was sent",
      provider: refusal.providerErrorCode(provider))
  }

  /// The problem of a number that has expired.
  ///
  /// - Parameter refusal: BSA's answer; nil if the number has expired by the daemon's clock.
  fileprivate static func numberExpired(
    _ refusal: RTRefusal?, _ provider: ProviderName
  ) -> Problem {
    Problem(
      reason: "code_expired", title: "Number expired",
      message: "this number has expired: request another",
      provider: (refusal ?? RTRefusal(.invalid)).providerErrorCode(provider))
  }

  /// The problem that BSA refuses to check a number, for a reason other than the number.
  fileprivate static func notAccepted(_ refusal: RTRefusal, _ provider: ProviderName) -> Problem {
    let isBusy = refusal.code.isRetryable
    return Problem(
      reason: isBusy ? "provider_busy" : "provider_rejected",
      title: isBusy ? "Not possible at present" : "Refused", message: refusal.code.meaning,
      provider: refusal.providerErrorCode(provider))
  }

  /// The problem that BSA's answer about a number cannot be used.
  fileprivate static func unusable(_ failure: Failure) -> Problem {
    Problem(
      reason: "provider_protocol_error", title: failure.title, message: failure.message,
      provider: failure.provider)
  }

  fileprivate static func tooEarly(_ wait: Duration) -> Problem {
    Problem(
      reason: "too_early", title: "Too early",
      message: "another number can be requested in \(wait.inWords)",
      retryAfterMs: Int(wait.milliseconds))
  }

  fileprivate static let sentEnough = Problem(
    reason: "sent_enough", title: "No more numbers",
    message: "no more numbers are sent: start again to get another")
}
