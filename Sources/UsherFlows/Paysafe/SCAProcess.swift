import UsherAPI
import UsherCore

/// Strong Customer Authentication (SCA) for one event, as a part of the flows that need it
/// (provider contract §2.5, §2.6): choose a verification, send a challenge, submit the customer's
/// answer.
///
/// The event status VERIFIED ends the process. Paysafe judges an event by its latest attempt, so
/// none may follow a successful one (§10, trap 4). If the outcome of a call is unknown, the daemon
/// asks Paysafe for the event's status before it sends anything again.
///
/// Paysafe publishes no call for the status. If the server has none, the customer decides what
/// happens next, as with the SDK: submit the value again, send another challenge, or repeat the
/// wallet operation.
struct SCAProcess: RetryingMachine, Codable, Sendable, Equatable {
  typealias Event = FlowEvent<PaysafeCall>

  let terms: Terms
  /// The verifications that Paysafe offers for the SCA event: nil if they are unknown, empty for
  /// any method agreed with Paysafe.
  var offers: [SCADemand.Offer]?
  /// The time at which the SCA event expires; nil if it is unknown.
  var expiresAt: Timestamp?
  var counters = SCACounters()
  /// The ids of options that the provider offered and then refused.
  var unavailable: [String] = []
  var coolDown: CoolDown?
  /// True if the event was verified before, so that a further attempt could undo the approval.
  var wasVerified: Bool?
  var state: State
  var problem: Problem?

  /// The parameters of the process, which the enclosing flow sets.
  struct Terms: Codable, Sendable, Equatable {
    let provider: ProviderName
    let event: PaysafeCall.Event
    /// The verification that the caller requests; nil if the customer chooses.
    let wanted: PaysafeCall.Verification?
    let instructions: PaysafeCall.Instructions
    /// The description of the operation that the customer sees; nil if there is none.
    let operation: Operation?
    /// The seconds between two polls while the customer answers the challenge on another device or
    /// page.
    let pollSeconds: Int
  }

  /// A period in which Paysafe refuses to send another challenge for the SCA event.
  struct CoolDown: Codable, Sendable, Equatable {
    let until: Timestamp
    let word: ProviderErrorCode
  }

  enum State: Codable, Sendable, Equatable {
    /// Asks for the event's status, then shows the notice to the customer. Next: choosing,
    /// challenging, or the end.
    case required(RetryBackoff, notice: Problem?)
    /// Lets the customer choose a verification. Next: challenging, or the end.
    case choosing
    /// Sends a challenge. Next: challenged, watching, choosing, required, inquiring, or the end.
    case challenging(Sending, RetryBackoff)
    /// Waits for a code or password. Next: attempting, challenging, or the end.
    case challenged(Challenge)
    /// Polls while the customer answers the challenge on another device or page. Next: choosing, or
    /// the end.
    case watching(Watch)
    /// Submits the customer's answer. Next: challenged, inquiring, or the end.
    case attempting(Challenge)
    /// Asks for the event's status, because a reply was lost. Next: challenging, challenged,
    /// watching, or the end.
    case inquiring(UnknownOutcome, RetryBackoff)
  }

  /// A request to Paysafe to send a challenge, which has not been answered yet.
  struct Sending: Codable, Sendable, Equatable {
    let option: SCAOption
    /// The challenge that this one replaces. It may stay valid until the new one is sent.
    var previous: Challenge?
    /// The confirmation that this challenge replaces. The customer may still give it until the new
    /// challenge is sent.
    var previousWatch: Watch?
    /// True if the challenge was sent again because a reply was lost. That happens at most once.
    var isRepeated: Bool?
  }

  /// A challenge whose answer the customer types into the step.
  struct Challenge: Codable, Sendable, Equatable {
    let option: SCAOption
    let input: Input
    let sentAt: Timestamp
    /// When the challenge expires; nil if Paysafe does not report it.
    var expiresAt: Timestamp?
    var isOver = false

    enum Input: Codable, Sendable, Equatable {
      case code(SCAForm.Channel, digits: Int?)
      case secret(SCAForm.Purpose)
    }

    /// Returns the challenge as expired at this time.
    func over(at now: Timestamp) -> Challenge {
      var challenge = self
      challenge.isOver = true
      challenge.expiresAt = min(expiresAt ?? now, now)
      return challenge
    }

    /// Returns the challenge to show after another one of the same form may have replaced it.
    ///
    /// If this challenge has expired, the result has no expiry: then Paysafe decides whether an
    /// answer is still valid.
    func reopened(for option: SCAOption, at now: Timestamp) -> Challenge {
      let isOver = isOver || expiresAt.map { $0 <= now } ?? false
      guard isOver, self.option.form == option.form else { return self }
      return Challenge(option: self.option, input: input, sentAt: now)
    }
  }

  /// A challenge that the customer answers on another device or page.
  struct Watch: Codable, Sendable, Equatable {
    let place: Place
    /// The challenge that was sent; nil in flows that an older version of the daemon has stored.
    var sent: Sent?
    /// When the challenge expires; nil if Paysafe does not report it.
    let expiresAt: Timestamp?
    /// Whether a poll is in progress.
    var isAsking = false
    /// The number of consecutive polls without a usable reply.
    var misses = 0
    /// True if the server has no call for the event's status, so that only the customer can say
    /// that the challenge is answered.
    var isBlind: Bool?

    struct Sent: Codable, Sendable, Equatable {
      let option: SCAOption
      let at: Timestamp
    }

    enum Place: Codable, Sendable, Equatable {
      case device
      case page(url: String, returnURL: String)
    }
  }

  /// The action whose outcome the daemon has to find out.
  enum UnknownOutcome: Codable, Sendable, Equatable {
    case challenge(Sending)
    case attempt(Challenge)
    /// Paysafe says that the SCA event is settled, but not whether it is verified.
    case completion
  }

  typealias Answer = FlowAnswer<PaysafeCall, Outcome>

  /// How the process ends without a failure.
  enum Outcome: Sendable, Equatable {
    /// The event is verified. The value is Paysafe's reason for that status, if it states one.
    case verified(reason: String?)
    /// The customer has answered, but the server has no call for the event's status: only the
    /// wallet operation, repeated, tells whether the event is verified. If it is not, or if the
    /// flow does not make the operation, the process continues with
    /// ``SCAProcess/unconfirmed(_:)``.
    case answered
  }

  /// Starts the process.
  ///
  /// - Parameters:
  ///   - offers: The event's verifications; nil if they are unknown.
  ///   - asksFirst: Whether the event's status is requested before anything is sent.
  static func begin(
    _ terms: Terms, offers: [SCADemand.Offer]?, expiresAt: Timestamp? = nil,
    asksFirst: Bool = false, at now: Timestamp
  ) -> (SCAProcess, Answer) {
    var process = SCAProcess(
      terms: terms, offers: offers, expiresAt: expiresAt.after(now),
      state: .required(RetryBackoff(), notice: nil))
    process.wasVerified = asksFirst ? true : nil
    let isKnown = offers != nil || terms.wanted != nil
    let answer = isKnown && !asksFirst ? process.present(nil, now) : process.requestStatus(nil)
    return (process, answer)
  }

  /// Continues with a challenge that was sent before, by another flow or device.
  ///
  /// - Parameter option: The verification of that challenge, whose answer the customer types.
  static func resume(
    _ option: SCAOption, _ terms: Terms, offers: [SCADemand.Offer]?, at now: Timestamp
  ) -> (SCAProcess, Answer) {
    var process = SCAProcess(
      terms: terms, offers: offers, state: .required(RetryBackoff(), notice: nil))
    let answer = process.openUnseen(option, nil, now)
    return (process, answer)
  }

  mutating func receive(_ event: Event, at now: Timestamp) -> Answer {
    switch state {
    case .required(let retrying, let notice): required(event, retrying, notice, now)
    case .choosing: choosing(event, now)
    case .challenging(let sending, let retrying): challenging(event, sending, retrying, now)
    case .challenged(let challenge): challenged(event, challenge, now)
    case .watching(let watch): watching(event, watch, now)
    case .attempting(let challenge): attempting(event, challenge, now)
    case .inquiring(let unknown, let retrying): inquiring(event, unknown, retrying, now)
    }
  }
}

// Functions that all states of the process use.
extension SCAProcess {
  /// See ``FlowMachine/unknownOutcome``: Paysafe may be sending a message to the customer.
  var unknownOutcome: String? {
    switch state {
    case .challenging(let sending, let retrying) where !retrying.isPaused:
      sending.option.form.message.map { .perhapsSent($0) }
    case .inquiring(.challenge(let sending), _):
      sending.option.form.message.map { .perhapsSent($0) }
    case .required, .choosing, .challenging, .challenged, .watching, .attempting, .inquiring: nil
    }
  }

  func readStatus(_ outcome: CallOutcome) -> SCAReply<SCAEventStatus> {
    SCAReply(outcome, about: terms.event, from: terms.provider, SCAEventStatus.init)
  }

  /// Applies a status of the event that Paysafe has reported.
  ///
  /// - Returns: The answer that ends the process; nil while the event is open.
  mutating func settled(_ eventStatus: SCAEventStatus, _ now: Timestamp) -> Answer? {
    switch eventStatus.status {
    case .verified: return .finish(.verified(reason: eventStatus.reason))
    case .rejected: return .fail(.refused(terms.provider, reason: eventStatus.reason))
    case .failed: return .fail(.attemptsExhausted(terms.provider, reason: eventStatus.reason))
    case .pending:
      offers = offers ?? eventStatus.offers
      expiresAt = eventStatus.expiresAt.after(now) ?? expiresAt
      counters.merge(eventStatus.counters)
      return nil
    }
  }

  /// Returns the effect that wakes the flow when the event or the open challenge expires; empty if
  /// neither has an expiry.
  func timer(_ now: Timestamp) -> [Effect<PaysafeCall>] {
    var times = [expiresAt]
    switch state {
    case .challenged(let challenge) where !challenge.isOver: times.append(challenge.expiresAt)
    case .watching(let watch): times.append(watch.expiresAt)
    case .required, .choosing, .challenging, .challenged, .attempting, .inquiring: break
    }
    guard let next = times.compactMap(\.self).min() else { return [] }
    return [.wake(after: max(next - now, .zero))]
  }

  func isExpired(_ now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }

  /// Handles a timer while the customer is asked for input. The process fails if the event has
  /// expired. Otherwise the timer belongs to an earlier state and is set again.
  func woken(_ now: Timestamp) -> Answer {
    guard !isExpired(now) else { return .fail(.eventExpired(nil)) }
    let timer = timer(now)
    return timer.isEmpty ? .ignore : .proceed(timer)
  }
}

extension Timestamp? {
  /// Returns the time if it is after the reply that reports it; nil otherwise, because Paysafe's
  /// clock must be wrong then.
  func after(_ now: Timestamp) -> Timestamp? { flatMap { $0 > now ? $0 : nil } }
}
