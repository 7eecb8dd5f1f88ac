import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// Verifies that a user receives messages at a contact; a part of several BSA flows (seed, OTP
/// Number Request and Validation).
///
/// A machine performs the effects of ``begin()``, shows ``step`` and ``problem``, and forwards
/// every event while this is active. Numbers occur only in events and calls, never in this value.
struct ContactVerification: RetryingMachine, Codable, Sendable, Equatable {
  /// The number of wrong guesses that ends the verification.
  static let maxGuesses = 5
  /// How many times a code is sent at most, the first one included.
  static let sendLimit = 5

  let contact: BSAContact
  /// The registered user that the contact must belong to; nil if it may be any user's.
  let member: BSAMember?
  /// The local authentication that the member is registered with, as BSA reports it; nil before it
  /// does.
  private(set) var registered: BSAAuthType?
  var problem: Problem?
  private var stage = Phase.sending(Sending())
  private var sent = 0
  private var guesses = 0

  private enum Phase: Codable, Sendable, Equatable {
    /// A number is being sent. → otpSent, or the end
    case sending(Sending)
    /// The user has the number. → verifying, sending
    case otpSent(Challenge)
    /// The user's number is being verified. → otpSent, or the end
    case verifying(Challenge, Check)
    /// - Parameter state: The last name that the flow's state had.
    case done(state: String)
  }

  private struct Sending: Codable, Sendable, Equatable {
    var retrying = RetryBackoff()
    /// The previous number, which stays valid until it expires.
    var previous: Challenge?
  }

  private struct Challenge: Codable, Sendable, Equatable {
    let expiresAt: Timestamp
    let resendAt: Timestamp
  }

  /// A number that the user entered. It is held only between two attempts, and only in memory.
  private struct Check: Codable, Sendable, Equatable {
    var number = Transient(nil)
    var retrying = RetryBackoff()
  }

  enum Progress: InputRefusing, Equatable {
    case proceed([Effect<BSACall>])
    /// - Parameter disposeToken: The provider's proof of the verification.
    case verified(disposeToken: Sealed<Secret>)
    case fail(Failure)
    case refuse(field: String, message: String)
    case ignore
  }

  init(_ contact: BSAContact, of member: BSAMember? = nil) {
    self.contact = contact
    self.member = member
  }

  private var sendCall: BSACall { member.map { .sendToMember($0, contact) } ?? .send(contact) }

  mutating func begin() -> [Effect<BSACall>] { send(Sending()) }

  /// The name of the state. The seed has no names for these, so they are the daemon's own.
  var state: String {
    switch stage {
    case .sending: "sending"
    case .otpSent: "otpSent"
    case .verifying: "verifying"
    case .done(let state): state
    }
  }

  var isAsking: Bool { if case .otpSent = stage { true } else { false } }

  var isSending: Bool {
    if case .sending(let sending) = stage { !sending.retrying.isPaused } else { false }
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
  ) -> Progress {
    switch stage {
    case .sending(let sending): handleSending(event, sending, provider, now)
    case .otpSent(let challenge): handleOTPSent(event, challenge, provider, now)
    case .verifying(let challenge, let check):
      handleVerifying(event, challenge, check, provider, now)
    case .done: .ignore
    }
  }

  private mutating func fail(_ failure: Failure) -> Progress {
    stage = .done(state: state)
    problem = nil
    return .fail(failure)
  }

  private mutating func show(_ challenge: Challenge, _ problem: Problem?) -> Progress {
    stage = .otpSent(challenge)
    self.problem = problem
    return .proceed([])
  }
}

// MARK: - Sending a number

extension ContactVerification {
  private mutating func send(_ sending: Sending) -> [Effect<BSACall>] {
    var sending = sending
    sending.retrying.endPause()
    stage = .sending(sending)
    return [.call(sendCall)]
  }

  private mutating func handleSending(
    _ event: FlowEvent<BSACall>, _ sending: Sending, _ provider: Provider<BSASettings>,
    _ now: Timestamp
  ) -> Progress {
    switch event {
    case .provider(.called(sendCall, let outcome)) where !sending.retrying.isPaused:
      return sent(BSAReply(outcome), sending, provider, now)
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
  ) -> Progress {
    switch reply {
    case .success(let data):
      if member != nil {
        guard let isTheirs = data.objectValue?["result"]?.boolValue else {
          return fail(.missingMember("data.result"))
        }
        guard isTheirs else { return fail(.refused(.notRegistered, provider.name)) }
        registered = data.objectValue?["authType"]?.looseInteger
          .flatMap { BSAAuthType(number: $0) }
      }
      sent += 1
      return show(challenge(provider.settings, now), nil)
    case .refused(let code): return notSent(.notSent(code, provider.name), sending)
    case .failed(let fault) where fault.mayHaveTakenEffect:
      return mayHaveSent(fault.message, sending, provider, now)
    // Each number disturbs the contact's owner, so one that may have been sent is not sent again.
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
      expiresAt: now + .seconds(settings.otpSeconds),
      resendAt: now + .seconds(settings.resendSeconds))
  }

  /// Fails, unless an earlier number can still be entered.
  private mutating func notSent(_ failure: Failure, _ sending: Sending) -> Progress {
    guard let previous = sending.previous else { return fail(failure) }
    return show(previous, .notSent(failure))
  }

  /// Handles a lost reply: the user types the number if it arrives, and decides whether to request
  /// another.
  ///
  /// - Parameter cause: A sentence for users.
  private mutating func mayHaveSent(
    _ cause: String, _ sending: Sending, _ provider: Provider<BSASettings>, _ now: Timestamp
  ) -> Progress {
    // The lost reply was to tell how the member is registered; without that the flow cannot
    // continue.
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
  ) -> Progress {
    switch event {
    case .input(.code(let number, let fields)):
      let digits = provider.settings.otpDigits
      if let refusal = Progress.refusal(of: number, digits: digits) { return refusal }
      if let refusal = Progress.refusal(of: fields) { return refusal }
      guard now < challenge.expiresAt else {
        return show(challenge, .numberExpired(nil, provider.name))
      }
      problem = nil
      return .proceed(verify(number, challenge, Check()))
    case .input(.resend):
      guard sent < Self.sendLimit else { return show(challenge, .sentEnough) }
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
  ) -> Progress {
    switch event {
    case .provider(.called(.verify(contact, let number), let outcome))
    where !check.retrying.isPaused:
      return verified(BSAReply(outcome), number, challenge, check, provider)
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
  ) -> Progress {
    switch reply {
    case .success(let data):
      let members = data.objectValue ?? [:]
      guard let isRight = members["result"]?.boolValue else {
        return fail(.missingMember("data.result"))
      }
      // A wrong number is reported with rtCode 0 (contract §5.6).
      guard isRight else { return countWrongGuess(challenge, provider.name) }
      guard let token = members["disposeToken"]?.visibleSecret else {
        return fail(.missingMember("data.disposeToken"))
      }
      stage = .done(state: state)
      problem = nil
      return .verified(disposeToken: token)
    case .refused(.numberWrong): return countWrongGuess(challenge, provider.name)
    case .refused(.invalid): return show(challenge, .numberExpired(.invalid, provider.name))
    case .refused(let code) where code.isRetryable:
      return show(challenge, .notNow(code, provider.name))
    case .refused(let code): return fail(.refused(code, provider.name))
    case .failed(let fault) where !fault.mayHaveTakenEffect:
      let failure = Failure.unreachable(fault)
      let pause = pause(check.retrying, failure, after: fault.retryAfter) {
        $0.stage = .verifying(challenge, Check(number: Transient(number), retrying: $1))
      }
      return pause.map { .proceed([.wake(after: $0)]) } ?? fail(failure)
    // The provider may have counted the attempt, or even accepted it.
    case .failed(let fault): return show(challenge, .unreachable(fault.message))
    case .unreadable(let message), .noToken(let message): return fail(.protocolError(message))
    }
  }

  private mutating func countWrongGuess(_ challenge: Challenge, _ provider: ProviderName)
    -> Progress
  {
    guesses += 1
    guard guesses < Self.maxGuesses else {
      return fail(
        Failure(
          reason: .attemptsExhausted, title: "Too many wrong numbers",
          message: "\(guesses) wrong numbers were typed", retryable: true,
          provider: RTCode.numberWrong.providerErrorCode(provider)))
    }
    return show(challenge, .wrongCode(provider))
  }
}

extension Failure {
  /// The provider does not send a number. Code 3006 means then that it sends no more at present,
  /// not that the input was invalid.
  fileprivate static func notSent(_ code: RTCode, _ provider: ProviderName) -> Failure {
    var failure = Failure.refused(code, provider)
    guard code == .invalid else { return failure }
    failure.message = "the provider sends no more numbers to this contact at present"
    failure.retryable = true
    return failure
  }
}

extension Problem {
  /// - Parameter failure: The failure of the flow if there were no earlier number.
  fileprivate static func notSent(_ failure: Failure) -> Problem {
    Problem(
      reason: "not_sent", title: "No other number", message: failure.message,
      provider: failure.provider)
  }

  fileprivate static func wrongCode(_ provider: ProviderName) -> Problem {
    Problem(
      reason: "wrong_code", title: "Wrong number",
      message: "this is not the number that was sent",
      provider: RTCode.numberWrong.providerErrorCode(provider))
  }

  /// - Parameter code: The provider's code; nil if the daemon's clock shows the expiry.
  fileprivate static func numberExpired(_ code: RTCode?, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "code_expired", title: "Number expired",
      message: "this number has expired: request another",
      provider: (code ?? .invalid).providerErrorCode(provider))
  }

  fileprivate static func notNow(_ code: RTCode, _ provider: ProviderName) -> Problem {
    Problem(
      reason: "provider_busy", title: "Not possible at present", message: code.meaning,
      provider: code.providerErrorCode(provider))
  }

  fileprivate static func tooEarly(_ wait: Duration) -> Problem {
    Problem(
      reason: "too_early", title: "Too early",
      message: "another number can be requested in \(wait.inWords)",
      retryAfterMs: Int(wait.milliseconds))
  }

  fileprivate static let sentEnough = Problem(
    reason: "sent_enough", title: "No more numbers",
    message: "\(ContactVerification.sendLimit) numbers were sent: start again to get another")
}
